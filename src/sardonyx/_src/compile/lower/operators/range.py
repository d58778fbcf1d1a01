"""Range with a start, and a constant delta, determined by the sizes of inputs; falls back to the reference kernel for other operands."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sardonyx._src.compile.kernels.data_movement.arange import ARANGE_ELEMENTS, arange_step
from sardonyx._src.compile.layouts.laid_out import LaidOutRegion
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.partition.region import Region, Write
from sardonyx._src.compile.partition.registry import matches
from sardonyx._src.compile.partition.scope import Scope
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.step import Step
from sardonyx._src.ir.dims import Expr, Known
from sardonyx._src.ir.graph import Value


@dataclass(frozen=True, slots=True)
class Progression:
    """start, start + delta, ..."""

    start: Known
    delta: int


@matches("Range", 27)
def match_range(op: BoundNode, scope: Scope) -> Region[Progression] | None:
    start, delta = (known_scalar(scope, op.input(i)) for i in (0, 2))
    if start is None or not isinstance(delta, int) or scope.shape(op.output) is None:
        return None
    if scope.dtype_of(op.output) not in ARANGE_ELEMENTS:
        return None
    return Region("Range", (op.node,), Progression(start, delta), (), (Write(op.output),))


@lowers("Range")
def lower_range(region: LaidOutRegion[Progression], lowering: Lowering) -> Step:
    return arange_step(region.results[0], region.config.start, region.config.delta)


def known_scalar(scope: Scope, value: Value | None) -> Known | None:
    """The element of a one-element value, if the sizes of inputs determine it."""
    elements = scope.elements(value)
    if elements is None or elements.size != 1:
        return None
    element = elements.reshape(-1)[0]
    if isinstance(element, Expr):
        return element if scope.is_size(element) else None
    return int(element) if element is not None and math.isfinite(element) else None
