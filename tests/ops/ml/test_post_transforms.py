import math

import numpy as np
import pytest

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ops.ml.post_transforms import apply_post_transform, both_classes

SCORES = np.array([[0.0, math.log(3)], [0.25, 0.5]])


def test_nothing_is_done_for_none() -> None:
    assert apply_post_transform(SCORES, "NONE") is SCORES


def test_logistic_is_elementwise() -> None:
    scores = apply_post_transform(SCORES, "LOGISTIC")
    np.testing.assert_allclose(scores, [[0.5, 0.75], [1 / (1 + math.exp(-0.25)), 1 / (1 + math.exp(-0.5))]])
    assert apply_post_transform(np.array([[-1e4, 1e4]]), "LOGISTIC").tolist() == [[0, 1]]


def test_softmax_is_rowwise() -> None:
    np.testing.assert_allclose(apply_post_transform(SCORES, "SOFTMAX")[0], [0.25, 0.75])
    np.testing.assert_allclose(apply_post_transform(np.array([[1000.0, 1000.0]]), "SOFTMAX"), [[0.5, 0.5]])


def test_softmax_zero_leaves_zeros_out() -> None:
    scores = apply_post_transform(np.array([[0.0, 1.0, 1.0], [0.0, 1e-8, 2.0]]), "SOFTMAX_ZERO")
    np.testing.assert_allclose(scores, np.array([[0, 0.5, 0.5], [0, 0, 1]]), atol=1e-8)
    assert scores[0, 0] == 0


def test_probit_is_the_inverse_of_the_normal_distribution() -> None:
    x = np.array([[-8.0, -1.5, 0.0, 0.25, 3.0]])
    p = np.array([[math.erfc(-v / math.sqrt(2)) / 2 for v in x[0].tolist()]])
    np.testing.assert_allclose(apply_post_transform(p, "PROBIT"), x, rtol=1e-9, atol=1e-12)
    edges = apply_post_transform(np.array([[0.0, 1.0, -0.5, 1.5, math.nan]]), "PROBIT")[0]
    assert edges[:2].tolist() == [-math.inf, math.inf]
    assert np.isnan(edges[2:]).all()


def test_a_single_score_is_changed_by_probit_alone() -> None:
    score = np.array([[0.25]])
    for name in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"):
        assert apply_post_transform(score, name).tolist() == [[0.25]]
    np.testing.assert_allclose(apply_post_transform(score, "PROBIT"), [[-0.6744897501960817]])


@pytest.mark.parametrize(
    ("name", "signed", "expected"),
    [
        ("NONE", False, [0.75, 0.25]),
        ("NONE", True, [-0.25, 0.25]),
        ("SOFTMAX", False, [0.75, 0.25]),
        ("SOFTMAX_ZERO", True, [-0.25, 0.25]),
        ("LOGISTIC", False, [1 / (1 + math.exp(0.25)), 1 / (1 + math.exp(-0.25))]),
        ("LOGISTIC", True, [1 / (1 + math.exp(0.25)), 1 / (1 + math.exp(-0.25))]),
        ("PROBIT", False, [0.6744897501960817, -0.6744897501960817]),
    ],
)
def test_the_first_class_has_the_rest(name: str, signed: bool, expected: list[float]) -> None:
    np.testing.assert_allclose(both_classes(np.array([[0.25]]), name, signed=signed), [expected])


def test_unknown_names_are_refused() -> None:
    with pytest.raises(
        EvaluationError, match="post_transform must be one of NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO, PROBIT"
    ):
        apply_post_transform(SCORES, "TANH")
    with pytest.raises(
        EvaluationError, match="post_transform must be one of NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO, PROBIT"
    ):
        both_classes(SCORES[:, :1], "TANH", signed=True)
