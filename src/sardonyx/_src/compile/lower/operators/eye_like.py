"""EyeLike whose result is an output of the model.  `prepare` decomposes all others, and folds constant ones."""

from __future__ import annotations

from sardonyx._src.compile.kernels.data_movement.identity_matrix import identity_matrix_step
from sardonyx._src.compile.kernels.data_movement.memcpy import INTEGERS_BY_WIDTH
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Region, Scope, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.prepare.graph_info import MAX_ELEMENTS
from sardonyx._src.compile.program import Step


@matches("EyeLike", 22)
def match_eye_like(op: BoundNode, scope: Scope) -> Region[int] | None:
    shape, dtype = scope.shape(op.output), scope.dtype_of(op.output)
    if shape is None or len(shape) != 2 or dtype is None or dtype.bits // 8 not in INTEGERS_BY_WIDTH:
        return None
    diagonal = max(min(op.attribute("k", int), MAX_ELEMENTS), -MAX_ELEMENTS)
    return Region("EyeLike", (op.node,), diagonal, (), (Write(op.output),))


@lowers("EyeLike")
def lower_eye_like(region: LaidOutRegion[int], lowering: Lowering) -> Step:
    return identity_matrix_step(region.results[0], region.config)
