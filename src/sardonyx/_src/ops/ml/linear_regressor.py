"""LinearRegressor: linear functions of rows of features.

Spec: ai.onnx.ml LinearRegressor-1.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.batches import batch, rows
from sardonyx._src.ops.ml.linear_models import linear_scores
from sardonyx._src.ops.ml.post_transforms import transformed

op = Operator("LinearRegressor", "ai.onnx.ml", tolerance="rounding")


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
        raise EvaluationError(f"targets is {targets}, where a positive number is wanted")
    scores = linear_scores(rows(X), coefficients, intercepts, targets)
    return transformed(scores, post_transform).astype(np.float32)


@op.infer(1)
def infer(t: Inference) -> Result:
    rows, features = batch(t)
    targets, given = t.integer("targets"), t.attributes.get("coefficients")
    if targets < 1:
        t.fail(f"targets is {targets}, where a positive number is wanted")
    intercepts = t.attributes.get("intercepts")
    if isinstance(intercepts, tuple) and len(intercepts) not in (0, targets):
        t.fail(f"{len(intercepts)} intercepts are given for {targets} targets")
    if isinstance(features, int) and isinstance(given, tuple) and len(given) != targets * features:
        t.fail(f"{len(given)} coefficients are given for {targets} targets of {features} features")
    return TensorType(DataType.FLOAT, (rows, targets))
