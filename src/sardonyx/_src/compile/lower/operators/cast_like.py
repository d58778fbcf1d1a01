"""CastLike: an elementwise Cast to the target's element type, or an alias if the types are equal."""

from __future__ import annotations

from sardonyx._src.compile.codegen.expressions import Local
from sardonyx._src.compile.kernels.elementwise.elementwise import elementwise_step
from sardonyx._src.compile.kernels.elementwise.operators import scalar_expression
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.prepare.bound_node import BoundNode


@lowers("CastLike", 25)
def lower_cast_like(op: BoundNode, lowering: Lowering) -> bool:
    x, source_dtype, target_dtype = op.input(0), lowering.dtype_of(op.input(0)), lowering.dtype_of(op.output)
    if (
        x is None
        or source_dtype is None
        or target_dtype is None
        or not lowering.is_native(x)
        or lowering.shape(op.output) != lowering.shape(x)
    ):
        return False
    if source_dtype is target_dtype:
        lowering.any_layout(x)
        lowering.bind(op.output, *lowering.tensors[x])
        return True
    value = scalar_expression(
        "Cast", {**op.attributes, "to": int(target_dtype)}, [Local("i0")], [source_dtype]
    )
    if value is None:
        return False
    source = lowering.dense(x)
    lowering.emit(elementwise_step(value, [source], lowering.allocate_result(op.output)))
    return True
