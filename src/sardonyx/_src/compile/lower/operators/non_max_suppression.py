"""NonMaxSuppression: steps select the boxes of each class, count them, and write the result.

A run may compute the limits; a run with a limit outside of its range bails out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.compile.kernels.selection.non_max_suppression import (
    SuppressionLimits,
    collection_step,
    suppression_step,
    total_step,
)
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Write, matches
from sardonyx._src.compile.partition.regions.counted_value import CountedValue, bind_count, counted_value
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import DENSE
from sardonyx._src.compile.program.steps.program import Action
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Value
from sardonyx._src.ir.dims import dim_min

MAX_BOXES = 1 << 31  # of a class: the index of a box is the low half of a 64-bit sorting key
LIMITS = (  # for each limit: its element type, and its value if it is omitted
    (DataType.INT64, 0.0),
    (DataType.FLOAT, 0.0),
    (DataType.FLOAT, -float("inf")),
)


@dataclass(frozen=True, slots=True)
class Suppression:
    """The parameters of a NonMaxSuppression.

    selected: the result, with its data-dependent length.
    capacity: the most boxes of a class; MAX_BOXES if a run computes this limit.
    limits: for each of the three limits, whether it is an input.
    """

    selected: CountedValue
    capacity: int
    limits: tuple[bool, ...]
    is_centered: bool


@matches("NonMaxSuppression", 11)
def match_non_max_suppression(op: BoundNode, scope: Scope) -> Region[Suppression] | None:
    boxes, scores, selected = op.input(0), op.input(1), counted_value(scope, op.output)
    if boxes is None or scores is None or selected is None or not have_matching_shapes(scope, boxes, scores):
        return None
    limits = [op.input(i) for i in (2, 3, 4)]
    if not all(is_limit(scope, limit, dtype) for limit, (dtype, _) in zip(limits, LIMITS, strict=True)):
        return None
    config = Suppression(
        selected,
        capacity_of(scope, limits[0]),
        tuple(limit is not None for limit in limits),
        bool(op.attribute("center_point_box", int)),
    )
    reads = (boxes, scores, *(limit for limit in limits if limit is not None))
    return Region(
        "NonMaxSuppression",
        (op.node,),
        config,
        tuple(Read(value, DENSE) for value in reads),
        (Write(op.output),),
        binds_sizes=True,
    )


def is_limit(scope: Scope, value: Value | None, dtype: DataType) -> bool:
    """Whether a kernel can read a limit, or the limit is omitted."""
    return value is None or (scope.is_native(value) and scope.dtype_of(value) is dtype)


def capacity_of(scope: Scope, max_boxes: Value | None) -> int:
    """The most boxes of a class that a run can select."""
    constant = scope.constant(max_boxes)
    if max_boxes is None or constant is None:
        return 0 if max_boxes is None else MAX_BOXES
    return max(0, min(int(constant.reshape(-1)[0]), MAX_BOXES))


def have_matching_shapes(scope: Scope, boxes: Value, scores: Value) -> bool:
    """Whether boxes are [batch, n, 4] and scores [batch, classes, n], both float32."""
    return all(
        scope.is_native(v) and scope.dtype(v) is DataType.FLOAT and len(scope.known_shape(v)) == 3
        for v in (boxes, scores)
    )


@lowers("NonMaxSuppression")
def lower_non_max_suppression(region: LaidOutRegion[Suppression], lowering: Lowering) -> Sequence[Action]:
    (boxes, scores, *inputs), (y,), config = region.operands, region.results, region.config
    units, capacity = scores.shape[0] * scores.shape[1], dim_min(scores.shape[2], config.capacity)
    given = iter(inputs)
    limits = SuppressionLimits(
        *(
            next(given) if is_input else lowering.constant_tensor(np.array([default], dtype.numpy))
            for is_input, (dtype, default) in zip(config.limits, LIMITS, strict=True)
        )
    )
    segments = lowering.temporary(DataType.INT64, (units, capacity), f"{region.name}.segments")
    counts = lowering.temporary(DataType.INT64, (units,), f"{region.name}.counts")
    total = lowering.temporary(DataType.INT64, (1,), f"{region.name}.total")
    suppression = suppression_step(
        boxes,
        scores,
        segments,
        counts,
        limits,
        lowering.status,
        is_centered=config.is_centered,
    )
    return (
        suppression,
        total_step(counts, total),
        bind_count(config.selected, y.rank, total, units * capacity),
        collection_step(segments, counts, y, scores.shape[1]),
    )
