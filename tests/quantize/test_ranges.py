"""The ranges that each method finds in a histogram."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx._src.ir import Array
from sardonyx._src.quantize.ranges.entropy import divergence, entropy_range
from sardonyx._src.quantize.ranges.histogram import BINS, LEVELS, RangeHistogram
from sardonyx._src.quantize.ranges.percentile import percentile_range
from sardonyx._src.quantize.ranges.squared_error import squared_error_range


def histogram_of(numbers: Array) -> RangeHistogram:
    histogram = RangeHistogram.of(float(numbers.min()), float(numbers.max()))
    for part in np.array_split(numbers, 3):
        histogram.add(part)
    return histogram


def rounding_error(numbers: Array, low: float, high: float) -> float:
    """The sum of squared errors of 256 integers between the ends, computed from the numbers themselves."""
    step = (high - low) / (LEVELS - 1)
    integers = np.clip(np.rint(numbers / step) + np.rint(-low / step), 0, LEVELS - 1)
    return float(np.square((integers - np.rint(-low / step)) * step - numbers).sum())


def heavy_tailed(seed: int) -> Array:
    return np.asarray(np.random.default_rng(seed).standard_t(3, 40_000))


def test_a_histogram_counts_all_elements_and_contains_zero() -> None:
    numbers = np.random.default_rng(0).uniform(2, 6, 5000)
    histogram = histogram_of(numbers)
    assert (histogram.low, histogram.counts.sum()) == (0.0, 5000)
    first = int(2 / histogram.width)
    assert not histogram.counts[: first - 1].any() and len(histogram.counts) == BINS
    assert histogram.counts @ histogram.centers / 5000 == pytest.approx(numbers.mean(), abs=histogram.width)


def test_a_percentile_leaves_out_its_share_of_both_tails() -> None:
    numbers = np.concatenate([np.linspace(-1, 1, 99_990), [-50] * 5, [80] * 5])
    low, high = percentile_range(histogram_of(numbers))
    width = 130 / BINS
    assert low == pytest.approx(-1, abs=width) and high == pytest.approx(1, abs=width)


@pytest.mark.parametrize("seed", range(3))
def test_the_range_of_least_squared_error_is_better_than_the_extent(seed: int) -> None:
    numbers = heavy_tailed(seed)
    low, high = squared_error_range(histogram_of(numbers))
    best, whole = rounding_error(numbers, low, high), rounding_error(numbers, numbers.min(), numbers.max())
    assert numbers.min() <= low < 0 < high <= numbers.max()
    assert best < whole
    for factor in (0.8, 1.25):
        assert best < rounding_error(numbers, low * factor, high * factor)


def test_numbers_of_a_grid_keep_their_extent() -> None:
    numbers = np.repeat(np.arange(LEVELS) - 100.0, 3)
    assert squared_error_range(histogram_of(numbers)) == (-100.0, 155.0)


def test_the_divergence_is_that_of_its_definition() -> None:
    counts = np.zeros(512, np.int64)
    counts[:6] = [4, 2, 0, 3, 1, 1]  # two bins for an integer: 3, 3, 0, 3, 1, 1
    p, q = np.array([4, 2, 3, 1, 1]) / 11, np.array([3, 3, 3, 1, 1]) / 11
    assert divergence(counts, 0, 512) == pytest.approx(float(np.sum(p * np.log(p / q))))
    assert divergence(counts, 0, LEVELS - 1) == np.inf


def test_evenly_spread_numbers_lose_no_information() -> None:
    assert divergence(np.full(1024, 7), 0, 1024) == pytest.approx(0, abs=1e-12)
    assert divergence(np.full(1024, 7), 0, 512) > 0.1


def test_entropy_clips_outliers() -> None:
    numbers = np.concatenate([np.random.default_rng(1).standard_normal(60_000), [60.0]])
    low, high = entropy_range(histogram_of(numbers))
    assert high < 30
    assert low >= numbers.min()


@pytest.mark.parametrize("method", [percentile_range, squared_error_range, entropy_range])
def test_zeros_have_a_range_of_zeros(method: object) -> None:
    histogram = RangeHistogram.of(0.0, 0.0)
    histogram.add(np.zeros(5))
    assert method(histogram) == (0.0, 0.0)  # type: ignore[operator]
