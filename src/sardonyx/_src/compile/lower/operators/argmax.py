"""ArgMax and ArgMin in any layout; falls back to the reference kernel for an axis that may be empty."""

from __future__ import annotations

from sardonyx._src.compile.kernels.reductions.arg_reducer import ArgReduction
from sardonyx._src.compile.kernels.reductions.reduce import arg_reduce_step
from sardonyx._src.compile.kernels.reductions.reducers import NUMERIC_ELEMENTS
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import ANY, Step
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import known_ge


@dataclass(frozen=True, slots=True)
class ArgReduce:
    axis: int
    reduction: ArgReduction


@matches("ArgMax", 13)
@matches("ArgMin", 13)
def match_argmax(op: BoundNode, scope: Scope) -> Region[ArgReduce] | None:
    x, axis = op.input(0), op.attribute("axis", int)
    if x is None or not scope.is_native(x) or scope.dtype(x) not in NUMERIC_ELEMENTS:
        return None
    shape = scope.known_shape(x)
    if not -len(shape) <= axis < len(shape) or known_ge(shape[axis], 1) is not True:
        return None
    axis %= len(shape)
    reduced_dim = (1,) if op.attributes["keepdims"] else ()
    if scope.shape(op.output) != (*shape[:axis], *reduced_dim, *shape[axis + 1 :]):
        return None
    variant = ArgReduction(op.op_type == "ArgMax", bool(op.attributes["select_last_index"]))
    return Region("ArgReduce", (op.node,), ArgReduce(axis, variant), (Read(x, ANY),), (Write(op.output),))


@lowers("ArgReduce")
def lower_argmax(region: LaidOutRegion[ArgReduce], lowering: Lowering) -> Step:
    (x,), (y,), config = region.operands, region.results, region.config
    return arg_reduce_step(x, y, config.axis, config.reduction)
