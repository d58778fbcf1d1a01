"""Fuses the Casts to half precision and back, which round each result of a promoted model, into kernels."""

from __future__ import annotations

from sardonyx._src.compile.codegen.element_types import HALF_TYPES
from sardonyx._src.compile.partition import Scope
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, Value


def fuse_rounding(scope: Scope, value: Value) -> tuple[tuple[Node, ...], DataType | None, Value]:
    """Returns the fused Casts after a result, the half-precision type that it is rounded to, if any, and what the kernel computes.

    The kernel computes the result of a Cast to half precision and back, if both can be fused, and otherwise
    the value itself.
    """
    node = scope.sole_consumer(value)
    if node is None or node.op_type != "Cast" or (half := scope.dtype_of(node.outputs[0])) not in HALF_TYPES:
        return (), None, value
    upcast = scope.sole_consumer(node.outputs[0])
    if upcast is None or upcast.op_type != "Cast" or scope.dtype_of(upcast.outputs[0]) is not DataType.FLOAT:
        return (), half, value
    return (node, upcast), half, upcast.outputs[0]
