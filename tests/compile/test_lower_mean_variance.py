"""MeanVarianceNormalization against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest

from compile.reference_comparison import assert_matches_reference, normal
from sardonyx._src.ir import Array

CONV = "w = Constant <value = float[3,3,1,1] {1, 0, 2, 0, 1, 0, 0, 3, 1}> ()  c = Conv(x, w)"


def text(axes: tuple[int, ...], prefix: str = "c = Identity(x)", dims: str = "N,3,H,W") -> str:
    return f"""g (float[{dims}] x) => (float[{dims}] y) {{
      {prefix}
      m = MeanVarianceNormalization <axes = [{", ".join(map(str, axes))}]> (c)
      y = Neg(m)
    }}"""


def compute_expected(x: Array, axes: tuple[int, ...]) -> Array:
    widened = x.astype(np.float64)
    deviation = widened - widened.mean(axes, keepdims=True)
    result: Array = -deviation / (np.sqrt((deviation**2).mean(axes, keepdims=True)) + 1e-9)
    return result


@pytest.mark.parametrize("axes", [(0, 2, 3), (2, 3), (1,), (-1,), (0, 1, 2, 3), (3, 1), (-4,)], ids=str)
def test_elements_get_mean_0_and_variance_1(axes: tuple[int, ...]) -> None:
    feeds = [normal(2, 3, 5, 7) * 3 + 1, normal(1, 3, 1, 40)]
    result = assert_matches_reference(text(axes), *({"x": x} for x in feeds))
    for x, y in zip(feeds, result, strict=True):
        np.testing.assert_allclose(
            y, compute_expected(x, axes), 0, 1e-5
        )  # cancellation where few elements are alike


@pytest.mark.parametrize("axes", [(0, 2, 3), (1,), (2, 3)], ids=str)
def test_channels_last_inputs(axes: tuple[int, ...]) -> None:
    assert_matches_reference(text(axes, CONV), {"x": normal(2, 3, 6, 5)}, {"x": normal(1, 3, 4, 4)})


def test_constant_and_empty_inputs() -> None:
    result, empty = assert_matches_reference(
        text((0, 2, 3)), {"x": np.full((2, 3, 4, 5), 7, np.float32)}, {"x": normal(0, 3, 4, 5)}
    )
    assert (result == 0).all() and empty.size == 0


def test_deviations_as_small_as_epsilon() -> None:
    x = (normal(4, 50) * 1e-9).astype(np.float32)
    [result] = assert_matches_reference(text((1,), dims="A,B"), {"x": x})
    np.testing.assert_allclose(result, compute_expected(x, (1,)), 0, 2e-6)
    assert np.abs(result).max() < 2
