import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sardonyx._src.ops.ml.pairwise_probabilities import couple_probabilities, minimize, quadratic

ONES, ZEROS = np.ones(3), np.zeros(3)


def test_equal_pairs_have_equal_classes() -> None:
    np.testing.assert_allclose(couple_probabilities(np.zeros((2, 3)), ONES, ZEROS, 3), np.full((2, 3), 1 / 3))


def test_rows_do_not_touch_each_other() -> None:
    rng = np.random.default_rng(1)
    values = rng.normal(size=(20, 3))
    together = couple_probabilities(values, -ONES, ZEROS, 3)
    alone = np.vstack([couple_probabilities(row[np.newaxis], -ONES, ZEROS, 3) for row in values])
    np.testing.assert_array_equal(together, alone)


@given(st.lists(st.floats(0.05, 1), min_size=2, max_size=5))
def test_consistent_pairs_give_back_their_classes(weights: list[float]) -> None:
    """r_ij = p_i / (p_i + p_j) has the p themselves as minimum, where the sum is 0."""
    p = np.array(weights) / sum(weights)
    r = p[:, np.newaxis] / (p[:, np.newaxis] + p)
    r[np.arange(len(p)), np.arange(len(p))] = 0
    probabilities = minimize(quadratic(r[np.newaxis]))[0]
    assert abs(probabilities.sum() - 1) < 1e-12
    np.testing.assert_allclose(
        probabilities, p, atol=0.03
    )  # as far as the rule to stop at 0.005 / classes lets it go


def test_certain_pairs_are_clamped_away_from_0() -> None:
    probabilities = couple_probabilities(np.array([[1e4, 1e4, 1e4]]), -ONES, ZEROS, 3)
    np.testing.assert_allclose(probabilities, [[1, 0, 0]], atol=1e-3)
    assert (probabilities > 0).all()
