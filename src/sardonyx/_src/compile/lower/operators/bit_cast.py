"""BitCast: an alias of its input with another element type of the same width.

For results of fewer than 8 bits and bool it is an elementwise kernel, which clears the bits of a byte that do not
belong to the element.
"""

from __future__ import annotations

from dataclasses import replace

from sardonyx._src.compile.codegen.expressions import Cast, Local, Scalar
from sardonyx._src.compile.kernels.elementwise.operator_call import apply
from sardonyx._src.compile.lower.operators.elementwise import Elementwise
from sardonyx._src.compile.lower.operators.views import view_region
from sardonyx._src.compile.partition import Alias, Read, Region, Scope, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import element_bytes
from sardonyx._src.dtypes import DataType


@matches("BitCast", 26)
def match_bit_cast(op: BoundNode, scope: Scope) -> Region[object] | None:
    x, source, to = op.input(0), scope.dtype_of(op.input(0)), scope.dtype_of(op.output)
    if x is None or source is None or to is None or not scope.is_native(x):
        return None
    shape = scope.known_shape(x)
    if DataType.STRING in (source, to) or source.bits != to.bits or scope.shape(op.output) != shape:
        return None
    assert element_bytes(source) == element_bytes(to), f"{source.text} and {to.text} must be equally wide"
    if to.bits < 8 or to is DataType.BOOL:
        config = Elementwise((significant_bits(source, to),), shape, (shape,))
        return Region("Elementwise", (op.node,), config, (Read(x),), (Write(op.output),))
    return view_region(op, Alias(op.output, x, lambda tensor: replace(tensor, dtype=to)))


def significant_bits(source: DataType, to: DataType) -> Scalar:
    """A byte without the bits that do not belong to its element."""
    if to is DataType.BOOL:
        return Local("i0") if source is DataType.BOOL else Cast(DataType.BOOL, Local("i0"))
    return apply("and", Local("i0"), (1 << to.bits) - 1)
