"""OneHot: fills the output with the off value, then scatters the on value; indices out of range are ignored."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.compile.codegen.expressions import Cast, Local
from sardonyx._src.compile.kernels.data_movement.gather import INDEX_ELEMENTS
from sardonyx._src.compile.kernels.data_movement.one_hot import one_hot_steps
from sardonyx._src.compile.kernels.elementwise.elementwise import elementwise_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import ANY, Step
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import known_ge

FLOATS = (DataType.FLOAT, DataType.DOUBLE)  # indices of these types are first rounded toward zero


@matches("OneHot", 28)
def match_one_hot(op: BoundNode, scope: Scope) -> Region[int] | None:
    indices, values, shape = op.input(0), op.input(2), scope.shape(op.output)
    if indices is None or values is None or shape is None:
        return None
    if scope.dtype_of(indices) not in (*INDEX_ELEMENTS, *FLOATS):
        return None
    if not (scope.is_native(indices) and scope.is_native(values)) or scope.shape(values) != (2,):
        return None
    if scope.dtype(values) is not scope.dtype(op.output):
        return None
    dims, axis = scope.known_shape(indices), op.attribute("axis", int)
    if len(shape) != len(dims) + 1 or not -len(shape) <= axis < len(shape):
        return None
    axis %= len(shape)
    if (*shape[:axis], *shape[axis + 1 :]) != dims or known_ge(shape[axis], 1) is not True:
        return None
    return Region("OneHot", (op.node,), axis, (Read(indices, ANY), Read(values)), (Write(op.output),))


@lowers("OneHot")
def lower_one_hot(region: LaidOutRegion[int], lowering: Lowering) -> Sequence[Step]:
    indices, values = region.operands
    steps = list[Step]()
    if indices.dtype in FLOATS:
        whole = lowering.temporary(DataType.INT64, indices.shape, f"{region.name}.indices")
        steps.append(elementwise_step(Cast(DataType.INT64, Local("i0")), [indices], whole))
        indices = whole
    unused_status = lowering.temporary(DataType.INT64, (1,), f"{region.name}.status")
    return *steps, *one_hot_steps(indices, values, region.results[0], region.config, unused_status)
