"""Pooling windows of more taps than are combined one after the other, against the definition."""

from typing import Literal

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model

MAX = "g (float[1,2,H,W] x) => (y, i) { y, i = MaxPool <kernel_shape = [%d, %d], strides = [%d, 3], dilations = [1, 2], pads = [3, 1, 2, 0]> (x) }"
MEAN = "g (float[1,1,W] x) => (y) { y = AveragePool <kernel_shape = [%d], strides = [%d]> (x) }"


def first_maximum(x: np.ndarray, top: int, left: int, kernel: tuple[int, int]) -> tuple[float, int]:
    """The value and the flat position of the first of the largest elements of one window, NaN being the largest."""
    rows = [r for r in range(top, top + kernel[0]) if 0 <= r < x.shape[0]]
    columns = [c for c in range(left, left + 2 * kernel[1], 2) if 0 <= c < x.shape[1]]
    places = [(r, c) for r in rows for c in columns]
    if not places:
        return -np.inf, -1
    best = max(places, key=lambda p: (np.inf, 1) if np.isnan(x[p]) else (float(x[p]), 0))
    return float(x[best]), best[0] * x.shape[1] + best[1]


@pytest.mark.parametrize(("kernel", "stride"), [((70, 5), 4), ((3, 66), 5), ((1, 1), 7), ((65, 65), 7)])
def test_the_first_of_the_largest_elements_wins(kernel: tuple[int, int], stride: int) -> None:
    x = np.random.default_rng(0).integers(0, 9, (1, 2, 90, 150)).astype(np.float32)
    x[0, 1, 40, 70] = np.nan
    session = sx.Session(parse_model(MAX % (*kernel, stride), opset=22), engine="reference")
    y, indices = map(np.asarray, session.run({"x": x}).values())
    for channel, row, column in np.ndindex(*y.shape[1:]):
        value, position = first_maximum(x[0, channel], row * stride - 3, column * 3 - 1, kernel)
        np.testing.assert_equal(y[0, channel, row, column], np.float32(value))
        expected = -1 if position < 0 else channel * 90 * 150 + position
        assert indices[0, channel, row, column] == expected


@pytest.mark.parametrize(("taps", "stride"), [(64, 1), (65, 1), (127, 5), (128, 2), (200, 200)])
@pytest.mark.parametrize("engine", ["reference", "native"])
def test_means_of_long_windows(taps: int, stride: int, engine: Literal["reference", "native"]) -> None:
    x = np.random.default_rng(1).standard_normal((1, 1, 1000)).astype(np.float32)
    session = sx.Session(parse_model(MEAN % (taps, stride), opset=22), engine=engine)
    y = np.asarray(session.run({"x": x})["y"])
    windows = np.lib.stride_tricks.sliding_window_view(x, taps, axis=2)[:, :, ::stride]
    np.testing.assert_allclose(np.asarray(y), windows.mean(-1), rtol=1e-4, atol=1e-6)


def test_the_longest_windows_with_positions_are_refused() -> None:
    text = 'g (float[1,1,10] x) => (y, i) { y, i = MaxPool <kernel_shape = [2147483647], auto_pad = "SAME_UPPER"> (x) }'
    limits = sx.RunLimits(bytes=1 << 24)
    session = sx.Session(parse_model(text, opset=22), engine="reference", limits=limits)
    with pytest.raises(sx.errors.LimitError):
        session.run({"x": np.ones((1, 1, 10), np.float32)})
