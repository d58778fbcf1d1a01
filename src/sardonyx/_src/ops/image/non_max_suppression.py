"""NonMaxSuppression: for each class the boxes with the highest scores that do not overlap too much.

Spec: ai.onnx NonMaxSuppression-10, -11, which mean the same.  A box is dropped if its score is below `score_threshold`,
or if its overlap with a selected box exceeds `iou_threshold`.  Among equal scores the first box wins.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.image.box_suppression import Boxes, suppress_overlaps
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.shapes import check_one_element, merge_dims

op = Operator("NonMaxSuppression")


@op.infer(10, 11)
def infer(inference: Inference) -> Result:
    boxes, scores = inference.shape(0), inference.shape(1)
    for name, shape in (("boxes", boxes), ("scores", scores)):
        if shape is not None and len(shape) != 3:
            inference.fail(f"{name} must have rank 3; got rank {len(shape)}")
    for i, name in enumerate(("max_output_boxes_per_class", "iou_threshold", "score_threshold"), 2):
        check_one_element(inference, i, name)
    if boxes is not None:
        merge_dims(inference, (boxes[2], 4), "the numbers of a box")
    if boxes is not None and scores is not None:
        merge_dims(inference, (boxes[0], scores[0]), "batches")
        merge_dims(inference, (boxes[1], scores[2]), "numbers of boxes")
    return TensorType(DataType.INT64, (inference.new_dim(), 3))


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
    """boxes: [batch, n, 4] float32; scores: [batch, class, n] float32; result: [selected, 3] int64, batch, class and box.

    A box is given by two corners (y, x, y, x), or with `center_point_box` by x, y of its center, width and height.
    """
    if boxes.ndim != 3 or boxes.shape[2] != 4 or scores.ndim != 3:
        raise EvaluationError(
            "boxes and scores must be [batch, n, 4] and [batch, class, n]; "
            f"got {list(boxes.shape)} and {list(scores.shape)}"
        )
    if boxes.shape[:2] != (scores.shape[0], scores.shape[2]):
        raise EvaluationError(
            f"boxes and scores must agree in batch and n; got {list(boxes.shape)}, {list(scores.shape)}"
        )
    max_boxes = int(read_scalar(max_output_boxes_per_class, "max_output_boxes_per_class", 0))
    iou_limit = np.float32(read_scalar(iou_threshold, "iou_threshold", 0))
    if not 0 <= iou_limit <= 1:
        raise EvaluationError(f"iou_threshold must be in [0, 1]; got {iou_limit}")
    score_limit = np.float32(read_scalar(score_threshold, "score_threshold", -np.inf))
    selected = [np.empty((0, 3), np.int64)]
    for batch, box_corners in enumerate(corners(boxes, bool(center_point_box))):
        edges = Boxes.of(box_corners)
        for class_index, row in enumerate(scores[batch]):
            order = by_descending_score(row, score_limit)
            numbers = suppress_overlaps(edges, order, max_boxes, iou_limit)
            prefix = np.broadcast_to(np.array([batch, class_index]), (len(numbers), 2))
            selected.append(np.concatenate([prefix, numbers[:, None]], 1))
    return np.concatenate(selected)


def read_scalar(x: Array | None, name: str, default: float) -> float:
    """The element of a scalar input; raises EvaluationError for another size, or for a negative number of boxes."""
    if x is None:
        return default
    if x.size != 1:
        raise EvaluationError(f"{name} must have one element; got {x.size}")
    value: float = x.reshape(()).item()
    if name.startswith("max") and value < 0:
        raise EvaluationError(f"{name} must be >= 0; got {value}")
    return value


def corners(boxes: Array, has_centers: bool) -> Array:
    """Boxes [batch, n, 4] as their low and their high corners: [batch, n, 2, 2]."""
    pairs = boxes.reshape(*boxes.shape[:2], 2, 2)
    if has_centers:
        middle, half = pairs[:, :, 0], pairs[:, :, 1] / 2
        pairs = np.stack([middle - half, middle + half], 2)
    return np.sort(pairs, 2)


def by_descending_score(scores: Array, score_limit: np.float32) -> Array:
    """The indices of the scores [n] that are not below the limit, highest first; NaN last."""
    candidates = np.flatnonzero(~(scores < score_limit))
    return candidates[np.argsort(-scores[candidates], kind="stable")]
