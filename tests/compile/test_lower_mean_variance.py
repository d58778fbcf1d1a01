"""MeanVarianceNormalization by native steps, beside NumPy in double precision."""

from __future__ import annotations

import numpy as np
import pytest

from compile.lowered import normal, runs
from sardonyx._src.ir.tensors import Array

CONV = "w = Constant <value = float[3,3,1,1] {1, 0, 2, 0, 1, 0, 0, 3, 1}> ()  c = Conv(x, w)"


def text(axes: tuple[int, ...], before: str = "c = Identity(x)", dims: str = "N,3,H,W") -> str:
    return f"""g (float[{dims}] x) => (float[{dims}] y) {{
      {before}
      m = MeanVarianceNormalization <axes = [{", ".join(map(str, axes))}]> (c)
      y = Neg(m)
    }}"""


def expected(x: Array, axes: tuple[int, ...]) -> Array:
    wide = x.astype(np.float64)
    deviation = wide - wide.mean(axes, keepdims=True)
    found: Array = -deviation / (np.sqrt((deviation**2).mean(axes, keepdims=True)) + 1e-9)
    return found


@pytest.mark.parametrize("axes", [(0, 2, 3), (2, 3), (1,), (-1,), (0, 1, 2, 3), (3, 1), (-4,)], ids=str)
def test_elements_lose_their_mean_and_get_a_variance_of_1(axes: tuple[int, ...]) -> None:
    feeds = [normal(2, 3, 5, 7) * 3 + 1, normal(1, 3, 1, 40)]
    found = runs(text(axes), *({"x": x} for x in feeds))
    for x, y in zip(feeds, found, strict=True):
        np.testing.assert_allclose(y, expected(x, axes), 0, 1e-5)  # of two alike less is left than of many


@pytest.mark.parametrize("axes", [(0, 2, 3), (1,), (2, 3)], ids=str)
def test_channels_may_be_innermost(axes: tuple[int, ...]) -> None:
    runs(text(axes, CONV), {"x": normal(2, 3, 6, 5)}, {"x": normal(1, 3, 4, 4)})


def test_constants_become_0_and_nothing_stays_nothing() -> None:
    found, none = runs(
        text((0, 2, 3)), {"x": np.full((2, 3, 4, 5), 7, np.float32)}, {"x": normal(0, 3, 4, 5)}
    )
    assert (found == 0).all() and none.size == 0


def test_small_deviations_count_beside_what_is_added_to_them() -> None:
    x = (normal(4, 50) * 1e-9).astype(np.float32)
    [found] = runs(text((1,), dims="A,B"), {"x": x})
    np.testing.assert_allclose(found, expected(x, (1,)), 0, 2e-6)
    assert np.abs(found).max() < 2
