"""NonMaxSuppression with constant limits: selected boxes of each class, their number, then the result.

Falls back for limits that a run computes, and in subgraphs, where no sizes are bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sardonyx._src.compile.kernels.selection.non_max_suppression import (
    collection_step,
    suppression_step,
    total_step,
)
from sardonyx._src.compile.layouts.laid_out import LaidOutRegion
from sardonyx._src.compile.lower.lowering import Lowering
from sardonyx._src.compile.lower.registry import lowers
from sardonyx._src.compile.partition.counted_value import CountedValue, bind_count, counted_value
from sardonyx._src.compile.partition.region import Read, Region, Write
from sardonyx._src.compile.partition.registry import matches
from sardonyx._src.compile.partition.scope import Scope
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program.layout import DENSE
from sardonyx._src.compile.program.program import Action
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import dim_min
from sardonyx._src.ir.graph import Value

MAX_BOXES = 1 << 31  # of a class: indices of boxes are the low half of a key


@dataclass(frozen=True, slots=True)
class Suppression:
    """The limits of a NonMaxSuppression, and its result."""

    selected: CountedValue
    max_boxes: int
    iou_limit: float
    score_limit: float
    is_centred: bool


@matches("NonMaxSuppression", 11)
def match_non_max_suppression(op: BoundNode, scope: Scope) -> Region[Suppression] | None:
    boxes, scores, selected = op.input(0), op.input(1), counted_value(scope, op.output)
    if boxes is None or scores is None or selected is None:
        return None
    limits = [
        constant_limit(scope, op.input(i), default) for i, default in ((2, 0.0), (3, 0.0), (4, -float("inf")))
    ]
    max_boxes, iou_limit, score_limit = limits
    if max_boxes is None or iou_limit is None or score_limit is None:
        return None
    if max_boxes < 0 or not 0 <= iou_limit <= 1 or not have_matching_shapes(scope, boxes, scores):
        return None
    config = Suppression(
        selected,
        int(min(max_boxes, MAX_BOXES)),
        iou_limit,
        score_limit,
        bool(op.attribute("center_point_box", int)),
    )
    reads = (Read(boxes, DENSE), Read(scores, DENSE))
    return Region("NonMaxSuppression", (op.node,), config, reads, (Write(op.output),), binds_sizes=True)


def constant_limit(scope: Scope, value: Value | None, default: float) -> float | None:
    """The element of a constant of one element; None if a run computes it."""
    if value is None:
        return default
    elements = scope.constant(value)
    return None if elements is None or elements.size != 1 else float(elements.reshape(-1)[0])


def have_matching_shapes(scope: Scope, boxes: Value, scores: Value) -> bool:
    """Whether boxes are [batch, n, 4] and scores [batch, classes, n], both float32; guarded."""
    if not all(scope.is_native(v) and scope.dtype(v) is DataType.FLOAT for v in (boxes, scores)):
        return False
    a, b = scope.known_shape(boxes), scope.known_shape(scores)
    if len(a) != 3 or len(b) != 3:
        return False
    return all(scope.guard_required_equal(*pair) for pair in ((a[0], b[0]), (a[1], b[2]), (a[2], 4)))


@lowers("NonMaxSuppression")
def lower_non_max_suppression(region: LaidOutRegion[Suppression], lowering: Lowering) -> Sequence[Action]:
    (boxes, scores), (y,), config = region.operands, region.results, region.config
    units, capacity = scores.shape[0] * scores.shape[1], dim_min(scores.shape[2], config.max_boxes)
    segments = lowering.temporary(DataType.INT64, (units, capacity), f"{region.name}.segments")
    counts = lowering.temporary(DataType.INT64, (units,), f"{region.name}.counts")
    total = lowering.temporary(DataType.INT64, (1,), f"{region.name}.total")
    suppression = suppression_step(
        boxes,
        scores,
        segments,
        counts,
        iou_limit=config.iou_limit,
        score_limit=config.score_limit,
        is_centred=config.is_centred,
    )
    return (
        suppression,
        total_step(counts, total),
        bind_count(config.selected, y.rank, total),
        collection_step(segments, counts, y, scores.shape[1]),
    )
