"""Trilu with a diagonal that input sizes determine; falls back to the reference kernel for any other diagonal."""

from __future__ import annotations

from sardonyx._src.compile.kernels.data_movement.triangle import triangle_step
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.lower.operators.range import known_scalar
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.prepare.graph_info import MAX_ELEMENTS
from sardonyx._src.compile.program import Step
from sardonyx._src.compile.program.operands.layout import ROWS
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Known


@dataclass(frozen=True, slots=True)
class Triangle:
    diagonal: Known
    upper: bool


@matches("Trilu", 14)
def match_trilu(op: BoundNode, scope: Scope) -> Region[Triangle] | None:
    x, k = op.input(0), op.input(1)
    diagonal = 0 if k is None else known_scalar(scope, k)
    if x is None or diagonal is None or not scope.is_native(x) or scope.shape(op.output) != scope.shape(x):
        return None
    if len(scope.known_shape(x)) < 2:
        return None
    if isinstance(diagonal, int):
        diagonal = min(max(diagonal, -MAX_ELEMENTS), MAX_ELEMENTS)
    config = Triangle(diagonal, bool(op.attribute("upper", int)))
    return Region("Trilu", (op.node,), config, (Read(x, ROWS),), (Write(op.output),))


@lowers("Trilu")
def lower_trilu(region: LaidOutRegion[Triangle], lowering: Lowering) -> Step:
    config = region.config
    return triangle_step(region.operands[0], region.results[0], config.diagonal, upper=config.upper)
