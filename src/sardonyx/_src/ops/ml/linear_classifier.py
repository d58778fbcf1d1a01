"""LinearClassifier: one linear score for each class, and the class of the highest one.

Spec: ai.onnx.ml LinearClassifier-1, which leaves most of it open.  If there is a single score, it belongs to the second of
two classes, which wins if the score is positive; the score of the first class is 1 minus it.  Post transforms change no label.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.batches import batch, rows
from sardonyx._src.ops.ml.body_text import (
    OPSET,
    both_classes_text,
    feature_count,
    label_text,
    linear_text,
    post_transform_text,
    refuse_post_transform,
    rows_text,
)
from sardonyx._src.ops.ml.class_labels import count, label_type, labels_of
from sardonyx._src.ops.ml.linear_models import linear_scores
from sardonyx._src.ops.ml.post_transforms import POST_TRANSFORMS, apply_post_transform, both_classes
from sardonyx._src.ops.support.body_text import vector
from sardonyx._src.ops.traits import enum_values

op = Operator(
    "LinearClassifier",
    "ai.onnx.ml",
    tolerance="rounding",
    enum_attributes={"post_transform": enum_values(*POST_TRANSFORMS)},
)


@op.eval(1, ignores=("multi_class",))
def evaluate(
    X: Array,
    *,
    coefficients: tuple[float, ...],
    intercepts: tuple[float, ...] | None = None,
    classlabels_ints: tuple[int, ...] | None = None,
    classlabels_strings: tuple[str, ...] | None = None,
    post_transform: str,
) -> tuple[Array, Array]:
    """X: [N, C] or [C]; results: [N] labels, [N, E] float32; coefficients: E rows of C."""
    labels = labels_of(classlabels_ints, classlabels_strings)
    scores = linear_scores(rows(X), coefficients, intercepts, None)
    if scores.shape[1] == 1 and len(labels) == 2:
        both = both_classes(scores, post_transform, signed=False)
        return labels[(scores[:, 0] > 0).astype(np.int64)], both.astype(np.float32)
    if not 0 < scores.shape[1] <= len(labels):
        raise EvaluationError(
            f"there must be {scores.shape[1]} class labels, one for each score; got {len(labels)}"
        )
    return labels[scores.argmax(axis=1)], apply_post_transform(scores, post_transform).astype(np.float32)


@op.infer(1)
def infer(inference: Inference) -> Result:
    dtype, labels = label_type(inference, "classlabels_ints")
    n, length = batch(inference)
    coefficients = inference.attributes["coefficients"]
    assert isinstance(coefficients, tuple), "coefficients are no list"
    scores: Dim = None
    if isinstance(length, int) and length > 0:
        scores, rest = divmod(len(coefficients), length)
        if rest or not 0 < scores <= labels:
            inference.fail(
                f"there must be {length} coefficients for each of {labels} classes; got {len(coefficients)} in all"
            )
        intercepts = count(inference.attributes, "intercepts")
        if intercepts not in (0, scores):
            inference.fail(f"there must be {scores} intercepts, one for each score; got {intercepts}")
        scores = 2 if scores == 1 and labels == 2 else scores
    return TensorType(dtype, (n,)), TensorType(DataType.FLOAT, (n, scores))


@op.body(1, opset=OPSET)
def body(inference: Inference) -> str:
    scores = count(inference.attributes, "coefficients") // feature_count(inference)
    name = str(inference.attributes["post_transform"])
    is_pair = scores == 1 and label_type(inference, "classlabels_ints")[1] == 2
    if is_pair:
        result = both_classes_text(name, signed=False)
        places = f"""none = Constant <value = float {{0}}> ()
          is_second = Greater(scores, none)
          column = Cast <to = {DataType.INT64.value}> (is_second)
          label_axis = {vector([1])}
          places = Squeeze(column, label_axis)"""
    else:
        result = post_transform_text(name, scores)
        places = "places = ArgMax <axis = 1, keepdims = 0> (scores)"
    if result is None:
        return refuse_post_transform(inference, name)
    return f"""(X) => (Y, Z) {{
      {rows_text(inference)}
      {linear_text(inference, scores)}
      {places}
      {label_text(inference)}
      {result}
    }}"""
