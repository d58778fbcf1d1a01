"""Linear scores of rows of features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.ml.post_transforms import Scores


def linear_scores(
    rows: Array, coefficients: Sequence[float], intercepts: Sequence[float] | None, count: int | None
) -> Scores:
    """rows: [N, C], coefficients: C for each of `count` scores (as many as there are when it is None); result: [N, count]."""
    features = rows.shape[1]
    if count is None:
        count = len(coefficients) // features if features else len(intercepts or ())
    if len(coefficients) != count * features:
        raise EvaluationError(
            f"{len(coefficients)} coefficients are given, where rows of {features} features want {count} times as many"
        )
    if intercepts and len(intercepts) != count:
        raise EvaluationError(f"{len(intercepts)} intercepts are given for {count} scores")
    weights = np.array(coefficients, np.float64).reshape(count, features)
    with np.errstate(all="ignore"):
        scores = rows.astype(np.float64) @ weights.T
        return scores + np.array(intercepts, np.float64) if intercepts else scores
