"""CastLike: an elementwise Cast to the target's element type, or an alias if the types are equal."""

from __future__ import annotations

from sardonyx._src.compile.codegen.expressions import Local
from sardonyx._src.compile.kernels.elementwise.operators import scalar_expression
from sardonyx._src.compile.lower.operators.elementwise import Elementwise
from sardonyx._src.compile.lower.operators.views import view_region
from sardonyx._src.compile.partition import Alias, Read, Region, Scope, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode


@matches("CastLike", 25)
def match_cast_like(op: BoundNode, scope: Scope) -> Region[object] | None:
    x, source_dtype, target_dtype = op.input(0), scope.dtype_of(op.input(0)), scope.dtype_of(op.output)
    if x is None or source_dtype is None or target_dtype is None or not scope.is_native(x):
        return None
    shape = scope.known_shape(x)
    if scope.shape(op.output) != shape:
        return None
    if source_dtype is target_dtype:
        return view_region(op, Alias(op.output, x, lambda tensor: tensor))
    attributes = {**op.attributes, "to": int(target_dtype)}
    value = scalar_expression("Cast", attributes, [Local("i0")], [source_dtype])
    if value is None:
        return None
    config = Elementwise((value,), shape, (shape,))
    return Region("Elementwise", (op.node,), config, (Read(x),), (Write(op.output),))
