"""Linear scores of rows of features."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ops.ml.post_transforms import Scores


def linear_scores(
    rows: Array, coefficients: Sequence[float], intercepts: Sequence[float] | None, count: int | None
) -> Scores:
    """rows: [N, C], coefficients: C for each of `count` scores (None: by their number); result: [N, count]."""
    features = rows.shape[1]
    if count is None:
        count = len(coefficients) // features if features else len(intercepts or ())
    if len(coefficients) != count * features:
        raise EvaluationError(
            f"there must be {count} coefficients for each of {features} features; got {len(coefficients)} in all"
        )
    if intercepts and len(intercepts) != count:
        raise EvaluationError(f"there must be {count} intercepts, one for each score; got {len(intercepts)}")
    weights = np.array(coefficients, np.float64).reshape(count, features)
    with np.errstate(all="ignore"):
        scores = rows.astype(np.float64) @ weights.T
        return scores + np.array(intercepts, np.float64) if intercepts else scores
