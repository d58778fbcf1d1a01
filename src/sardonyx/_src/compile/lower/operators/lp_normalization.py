"""LpNormalization of float32 rows along the last axis; `prepare` decomposes LpNormalization along other axes."""

from __future__ import annotations

from sardonyx._src.compile.kernels.reductions.lp_norm import lp_norm_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import DENSE, Step
from sardonyx._src.dtypes import DataType


@matches("LpNormalization", 22)
def match_lp_normalization(op: BoundNode, scope: Scope) -> Region[int] | None:
    x, order = op.input(0), op.attribute("p", int)
    if x is None or order not in (1, 2) or not scope.is_native(x) or scope.dtype_of(x) is not DataType.FLOAT:
        return None
    rank = len(scope.known_shape(x))
    if not rank or scope.shape(op.output) is None or op.attribute("axis", int) not in (-1, rank - 1):
        return None
    return Region("LpNormalization", (op.node,), order, (Read(x, DENSE),), (Write(op.output),))


@lowers("LpNormalization")
def lower_lp_normalization(region: LaidOutRegion[int], lowering: Lowering) -> Step:
    return lp_norm_step(region.operands[0], region.results[0], region.config)
