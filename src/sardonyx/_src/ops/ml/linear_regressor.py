"""LinearRegressor: linear functions of rows of features.

Spec: ai.onnx.ml LinearRegressor-1.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.batches import batch, rows
from sardonyx._src.ops.ml.body_text import (
    OPSET,
    linear_text,
    post_transform_text,
    refuse_post_transform,
    rows_text,
)
from sardonyx._src.ops.ml.linear_models import linear_scores
from sardonyx._src.ops.ml.post_transforms import POST_TRANSFORMS, apply_post_transform
from sardonyx._src.ops.traits import enum_values

op = Operator(
    "LinearRegressor",
    "ai.onnx.ml",
    tolerance="rounding",
    enum_attributes={"post_transform": enum_values(*POST_TRANSFORMS)},
)


@op.eval(1)
def evaluate(
    X: Array,
    *,
    coefficients: tuple[float, ...] = (),
    intercepts: tuple[float, ...] | None = None,
    targets: int,
    post_transform: str,
) -> Array:
    """X: [N, C] or [C], result: [N, targets] float32; coefficients: C for each target."""
    if targets < 1:
        raise EvaluationError(f"targets must be positive; got {targets}")
    scores = linear_scores(rows(X), coefficients, intercepts, targets)
    return apply_post_transform(scores, post_transform).astype(np.float32)


@op.infer(1)
def infer(inference: Inference) -> Result:
    rows, features = batch(inference)
    targets, coefficients = inference.integer("targets"), inference.attributes.get("coefficients")
    if targets < 1:
        inference.fail(f"targets must be positive; got {targets}")
    intercepts = inference.attributes.get("intercepts")
    if isinstance(intercepts, tuple) and len(intercepts) not in (0, targets):
        inference.fail(f"there must be {targets} intercepts, one for each target; got {len(intercepts)}")
    if (
        isinstance(features, int)
        and isinstance(coefficients, tuple)
        and len(coefficients) != targets * features
    ):
        inference.fail(
            f"there must be {features} coefficients for each of {targets} targets; got {len(coefficients)} in all"
        )
    return TensorType(DataType.FLOAT, (rows, targets))


@op.body(1, opset=OPSET)
def body(inference: Inference) -> str:
    name, targets = str(inference.attributes["post_transform"]), inference.integer("targets")
    result = post_transform_text(name, targets)
    if result is None:
        return refuse_post_transform(inference, name)
    return f"""(X) => (Z) {{
      {rows_text(inference)}
      {linear_text(inference, targets)}
      {result}
    }}"""
