"""Resize of images with dynamic sizes: native programs match the reference engine."""

from __future__ import annotations

import numpy as np
import pytest

from compile.reference_comparison import assert_matches_reference, normal
from sardonyx._src.compile.kernels.resize.dynamic_taps import DYNAMIC_COORDINATES, NEAREST_MODES
from sardonyx._src.runtime.limits.run_limits import Bailout

SIZES = [(5, 7), (1, 1), (16, 3), (2, 40)]


def feeds(*, channels: int = 3) -> list[dict[str, np.ndarray]]:
    return [{"x": normal(2, channels, *size)} for size in SIZES]


@pytest.mark.parametrize("mode", ["linear", *NEAREST_MODES])
@pytest.mark.parametrize("coordinates", DYNAMIC_COORDINATES)
@pytest.mark.parametrize("scales", ["2, 2", "0.5, 1.5", "1, 3"])
def test_resize_by_scales(scales: str, coordinates: str, mode: str) -> None:
    modes = 'mode = "linear"' if mode == "linear" else f'mode = "nearest", nearest_mode = "{mode}"'
    text = f"""g (float[n,3,h,w] x) => (float[] y) <float[4] s = {{1, 1, {scales}}}> {{
      y = Resize<{modes}, coordinate_transformation_mode = "{coordinates}">(x, , s) }}"""
    assert_matches_reference(text, *feeds())


@pytest.mark.parametrize("mode", ["linear", "nearest"])
@pytest.mark.parametrize("coordinates", DYNAMIC_COORDINATES)
def test_resize_to_the_size_of_another_image(coordinates: str, mode: str) -> None:
    text = f"""g (float[n,3,h,w] x, float[n,1,a,b] z) => (float[] r) {{
      s = Shape<start = 2>(z)
      y = Resize<mode = "{mode}", axes = [2, 3], coordinate_transformation_mode = "{coordinates}">(x, , , s)
      r = Relu(y) }}"""
    sizes = [(9, 11), (1, 1), (5, 7), (0, 3)]
    assert_matches_reference(
        text, *({**feed, "z": normal(2, 1, *size)} for feed, size in zip(feeds(), sizes, strict=True))
    )
    with pytest.raises(Bailout):
        assert_matches_reference(text, {"x": normal(2, 3, 0, 4), "z": normal(2, 1, 3, 3)})


@pytest.mark.parametrize("coordinates", ["asymmetric", "half_pixel"])
@pytest.mark.parametrize("scales", ["1, 2", "0.5, 1"])
def test_infinities_spread_along_resized_axes_only(scales: str, coordinates: str) -> None:
    text = f"""g (float[1,1,h,w] x) => (float[] y) <float[4] s = {{1, 1, {scales}}}> {{
      y = Resize<mode = "linear", coordinate_transformation_mode = "{coordinates}">(x, , s) }}"""
    x = normal(1, 1, 8, 6)
    x[0, 0, 2, 2] = np.inf
    [result] = assert_matches_reference(text, {"x": x})
    assert np.isfinite(result[0, 0, -1]).all()


def test_resize_of_one_spatial_dim() -> None:
    text = """g (float[n,2,w] x) => (float[] y) <float[3] s = {1, 1, 2.5}> { y = Resize<mode = "linear">(x, , s) }"""
    assert_matches_reference(text, {"x": normal(1, 2, 9)}, {"x": normal(2, 2, 1)})
