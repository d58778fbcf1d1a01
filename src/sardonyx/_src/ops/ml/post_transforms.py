"""Post transforms of the scores of classifiers and regressors: the attribute `post_transform`.

Spec: the specification only names them.  Their meaning here is that of ONNX Runtime, on which converters rely: SOFTMAX
applies to the scores of a row, SOFTMAX_ZERO excludes scores that are nearly 0 from it, and PROBIT is the quantile function
of the normal distribution.  Only PROBIT changes a row of a single score.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.errors import EvaluationError

Scores = NDArray[np.float64]
POST_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
NEARLY_ZERO = 1e-7


def apply_post_transform(scores: Scores, name: str) -> Scores:
    """The transformed scores, [N, E]."""
    check_post_transform(name)
    with np.errstate(all="ignore"):
        if name == "PROBIT":
            return probit(scores)
        if name == "NONE" or scores.shape[1] < 2:
            return scores
        return logistic(scores) if name == "LOGISTIC" else softmax(scores, leave_zeros=name == "SOFTMAX_ZERO")


def both_classes(scores: Scores, name: str, *, signed: bool) -> Scores:
    """The transformed scores of two classes, [N, 2], from the scores of the second one, [N, 1].

    Softmax does not change the scores.

    signed: whether scores have either sign, and the score of the first class is the negative; otherwise they are in [0, 1],
        and the score of the first class is 1 minus that of the second
    """
    check_post_transform(name)
    with np.errstate(all="ignore"):
        if name == "LOGISTIC":
            return np.hstack([logistic(-scores), logistic(scores)])
        if name == "PROBIT":
            scores = probit(scores)
            return np.hstack([-scores, scores])
        return np.hstack([-scores if signed else 1 - scores, scores])


def check_post_transform(name: str) -> None:
    if name not in POST_TRANSFORMS:
        raise EvaluationError(f"post_transform must be one of {', '.join(POST_TRANSFORMS)}; got {name!r}")


def logistic(x: Scores) -> Scores:
    return 1 / (1 + np.exp(-x))


def softmax(scores: Scores, *, leave_zeros: bool) -> Scores:
    top = scores.max(axis=1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - top)
    if leave_zeros:
        weights = np.where(np.abs(scores) > NEARLY_ZERO, weights, scores * np.exp(-top))
    return weights / weights.sum(axis=1, keepdims=True)


def probit(p: Scores) -> Scores:
    """The x for which P(normal variable <= x) is p: infinite for 0 and 1, NaN outside of [0, 1]."""
    from statistics import NormalDist  # loads slowly, and is hardly ever needed

    inside = (p > 0) & (p < 1)
    result = np.where(p == 0, -np.inf, np.where(p == 1, np.inf, np.nan))
    result[inside] = [NormalDist().inv_cdf(v) for v in p[inside].tolist()]
    return result
