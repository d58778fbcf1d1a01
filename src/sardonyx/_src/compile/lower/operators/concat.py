"""Concat: inputs are written into slices of the output, by their producers or by copies of the layout stage.

Falls back to the reference kernel for more than `MAX_INPUTS` inputs.
"""

from __future__ import annotations

from sardonyx._src.compile.layouts.concat_elision import Concat
from sardonyx._src.compile.partition import Read, Region, Scope, Shape, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import ANY
from sardonyx._src.compile.program.operands.layout import FOLLOW
from sardonyx._src.ir import Value
from sardonyx._src.ir.dims import dim_add

MAX_INPUTS = 1024  # each input is at least a step; the reference kernel copies all of them in one loop


@matches("Concat", 13)
def match_concat(op: BoundNode, scope: Scope) -> Region[Concat] | None:
    shape = scope.shape(op.output)
    values = [value for value in op.node.inputs if value is not None]
    if shape is None or len(values) > MAX_INPUTS or not all(scope.is_native(value) for value in values):
        return None
    axis = op.attribute("axis", int) % len(shape)
    if not parts_fill_output(scope, values, shape, axis):
        return None
    # Producers may write slices of channels in any layout (`layouts/concat_elision.py`); inference has merged the other axes.
    reads = tuple(Read(value, ANY, decides_layout=axis == 1) for value in values)
    return Region("Concat", (op.node,), Concat(axis), reads, (Write(op.output, FOLLOW),))


def parts_fill_output(scope: Scope, values: list[Value], shape: Shape, axis: int) -> bool:
    """Whether the sizes of the inputs along the axis add up to the output's; records a guard where that is not proved."""
    total = dim_add(0, *(scope.known_shape(value)[axis] for value in values))
    return total is not None and scope.guard_equal(total, shape[axis])
