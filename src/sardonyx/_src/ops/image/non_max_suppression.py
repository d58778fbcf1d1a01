"""NonMaxSuppression: for each class the boxes of the highest scores that do not overlap too much.

Spec: ai.onnx NonMaxSuppression-10, -11, which mean the same.  Boxes whose score is below `score_threshold` are out; one
that overlaps a box chosen before it by more than `iou_threshold` is out, too.  Of equal scores the first box counts.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import check_single, merge_dims

op = Operator("NonMaxSuppression")


@op.infer(10, 11)
def infer(t: Inference) -> Result:
    boxes, scores = t.shape(0), t.shape(1)
    for name, shape in (("boxes", boxes), ("scores", scores)):
        if shape is not None and len(shape) != 3:
            t.fail(f"{name} has rank {len(shape)}, where 3 is wanted")
    for i, name in enumerate(("max_output_boxes_per_class", "iou_threshold", "score_threshold"), 2):
        check_single(t, i, name)
    if boxes is not None:
        merge_dims(t, (boxes[2], 4), "the numbers of a box")
    if boxes is not None and scores is not None:
        merge_dims(t, (boxes[0], scores[0]), "batches")
        merge_dims(t, (boxes[1], scores[2]), "numbers of boxes")
    return TensorType(DataType.INT64, (t.new_dim(), 3))


@op.eval(10, 11)
def evaluate(
    boxes: Array,
    scores: Array,
    max_output_boxes_per_class: Array | None = None,
    iou_threshold: Array | None = None,
    score_threshold: Array | None = None,
    *,
    center_point_box: int,
) -> Array:
    """boxes: [batch, n, 4] float32, as two corners y, x, y, x, or as x, y of the centre, width, height;
    scores: [batch, class, n] float32; result: [found, 3] int64 of batch, class and box."""
    if boxes.ndim != 3 or boxes.shape[2] != 4 or scores.ndim != 3:
        raise EvaluationError(
            f"boxes of shape {list(boxes.shape)} and scores of shape {list(scores.shape)} are given, "
            "where [batch, n, 4] and [batch, class, n] are wanted"
        )
    if boxes.shape[:2] != (scores.shape[0], scores.shape[2]):
        raise EvaluationError(
            f"boxes of shape {list(boxes.shape)} and scores of shape {list(scores.shape)} differ in number"
        )
    most = int(number(max_output_boxes_per_class, "max_output_boxes_per_class", 0))
    overlap = np.float32(number(iou_threshold, "iou_threshold", 0))
    if not 0 <= overlap <= 1:
        raise EvaluationError(f"iou_threshold is {overlap}, which is not from 0 to 1")
    least = np.float32(number(score_threshold, "score_threshold", -np.inf))
    found = [np.empty((0, 3), np.int64)]
    for batch, sides in enumerate(corners(boxes, bool(center_point_box))):
        for kind, row in enumerate(scores[batch]):
            kept = suppressed(sides, row, most, overlap, least)
            found.append(np.array([(batch, kind, box) for box in kept], np.int64).reshape(-1, 3))
    return np.concatenate(found)


def number(x: Array | None, name: str, default: float) -> float:
    """The element of a scalar input."""
    if x is None:
        return default
    if x.size != 1:
        raise EvaluationError(f"{name} has {x.size} elements, where one is wanted")
    found: float = x.reshape(()).item()
    if name.startswith("max") and found < 0:
        raise EvaluationError(f"{name} is {found}, which is negative")
    return found


def corners(boxes: Array, centred: bool) -> Array:
    """Boxes [batch, n, 4] as their low and their high corners: [batch, n, 2, 2]."""
    pairs = boxes.reshape(*boxes.shape[:2], 2, 2)
    if centred:
        middle, half = pairs[:, :, 0], pairs[:, :, 1] / 2
        pairs = np.stack([middle - half, middle + half], 2)
    return np.sort(pairs, 2)


def suppressed(sides: Array, scores: Array, most: int, overlap: np.float32, least: np.float32) -> list[int]:
    """The boxes of one class that are kept, from the best score on; sides: [n, 2, 2], scores: [n]."""
    order = np.argsort(-scores, kind="stable")
    order = order[~(scores[order] < least)]
    kept: list[int] = []
    while len(order) and len(kept) < most:
        kept.append(int(order[0]))
        order = order[1:][~(overlaps(sides[order[0]], sides[order[1:]]) > overlap)]
    return kept


def overlaps(one: Array, others: Array) -> Array:
    """Intersection over union of a box [2, 2] with others [n, 2, 2]: [n]; NaN for two boxes without area."""
    low, high = np.maximum(one[0], others[:, 0]), np.minimum(one[1], others[:, 1])
    shared = (high - low).clip(0).prod(1)
    areas = (others[:, 1] - others[:, 0]).prod(1) + (one[1] - one[0]).prod()
    return shared / (areas - shared)
