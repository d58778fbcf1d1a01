"""The greatest scores of a beam search are those of a stable sort."""

import numpy as np
import pytest

from sardonyx_generation.beam_hypotheses import greatest


@pytest.mark.parametrize("count", [1, 3, 8, 40, 50])
@pytest.mark.parametrize("nans", [0, 5, 38])
def test_the_greatest_scores_are_those_of_a_stable_sort(count: int, nans: int) -> None:
    rng = np.random.default_rng(count)
    for _ in range(20):
        scores = rng.integers(0, 6, 40).astype(np.float32)  # many are equal
        scores[rng.integers(0, 40, 4)] = -np.inf
        scores[rng.permutation(40)[:nans]] = np.nan
        ordered = sorted(range(40), key=lambda i: (np.isnan(scores[i]), -np.nan_to_num(scores[i]), i))
        np.testing.assert_array_equal(greatest(scores, count), ordered[:count])
