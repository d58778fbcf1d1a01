"""CumSum and CumProd along a constant axis, in any layout; falls back to the reference kernel for a computed axis."""

from __future__ import annotations

from sardonyx._src.compile.kernels.reductions.cumulative import (
    CUMULATIVE_ELEMENTS,
    CumulativeVariant,
    cumulative_step,
)
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import ANY, Step
from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Cumulative:
    axis: int
    variant: CumulativeVariant


@matches("CumSum", 14)
@matches("CumProd", 26)
def match_cumulative(op: BoundNode, scope: Scope) -> Region[Cumulative] | None:
    x, axes = op.input(0), scope.constant(op.input(1))
    if (
        x is None
        or axes is None
        or axes.size != 1
        or not scope.is_native(x)
        or scope.dtype(x) not in CUMULATIVE_ELEMENTS
    ):
        return None
    shape, axis = scope.known_shape(x), int(axes.reshape(-1)[0])
    if not -len(shape) <= axis < len(shape) or scope.shape(op.output) != shape:
        return None
    run = CumulativeVariant(
        op.op_type == "CumProd", bool(op.attributes["exclusive"]), bool(op.attributes["reverse"])
    )
    return Region("Cumulative", (op.node,), Cumulative(axis, run), (Read(x, ANY),), (Write(op.output),))


@lowers("Cumulative")
def lower_cumulative(region: LaidOutRegion[Cumulative], lowering: Lowering) -> Step:
    (x,), (y,), config = region.operands, region.results, region.config
    return cumulative_step(x, y, config.axis, config.variant)
