"""Conversion of pooling between versions that count windows and padding differently."""

from __future__ import annotations

import numpy as np
import pytest

from models import only, parse_model
from sardonyx._src.convert.conversion import convert
from sardonyx._src.errors import ConversionError
from versions import convert_closely, convert_exactly, op_types

X = np.random.default_rng(3).normal(size=(1, 2, 7)).astype(np.float32)
LINE = "g (float[1,2,N] x) => (float[1,2,M] y) {{ y = {}(x) }}"


@pytest.mark.parametrize("size", [4, 5, 6, 7])
@pytest.mark.parametrize(
    ("op", "old", "new"), [("MaxPool", 11, 12), ("AveragePool", 11, 19), ("LpPool", 18, 22)]
)
def test_windows_in_the_padding_at_the_end_are_kept_for_every_size(
    op: str, old: int, new: int, size: int
) -> None:
    text = LINE.format(f"{op}<kernel_shape = [1], strides = [3], pads = [0, 1], ceil_mode = 1>")
    up = convert_exactly(text, old, new, x=X[:, :, :size])
    assert only(up.graph, op).attributes["pads"].value == (0, 3)
    assert "ceil_mode" not in only(up.graph, op).attributes


@pytest.mark.parametrize("counted", [0, 1])
@pytest.mark.parametrize("size", [4, 5, 6, 7])
def test_what_ceil_mode_reaches_beyond_the_padding_is_not_counted(size: int, counted: int) -> None:
    attributes = (
        f"kernel_shape = [3], strides = [2], pads = [1, 1], ceil_mode = 1, count_include_pad = {counted}"
    )
    text = LINE.format(f"AveragePool<{attributes}>")
    down = convert_exactly(text, 10, 9, x=X[:, :, :size])
    assert op_types(down) == ["Pad"] * counted + ["AveragePool"]


@pytest.mark.parametrize("size", [4, 5, 6, 7])
@pytest.mark.parametrize("counted", [0, 1])
def test_windows_that_start_inside_are_counted_where_the_size_is_known(size: int, counted: int) -> None:
    attributes = (
        f"kernel_shape = [2], strides = [3], pads = [0, 1], ceil_mode = 1, count_include_pad = {counted}"
    )
    text = LINE.format(f"AveragePool<{attributes}>").replace("N", str(size))
    convert_exactly(text, 19, 18, x=X[:, :, :size])
    with pytest.raises(ConversionError, match=r"the sizes of input 0 must be known; got float\[1,2,N\]"):
        convert(parse_model(LINE.format(f"AveragePool<{attributes}>"), opset=19), 18)


def test_windows_that_cannot_start_in_the_padding_have_equal_counts() -> None:
    text = LINE.format("MaxPool<kernel_shape = [3], strides = [2], pads = [1, 1], ceil_mode = 1>")
    assert only(convert_exactly(text, 11, 12, x=X).graph, "MaxPool").attributes["ceil_mode"].value == 1
    assert only(convert_exactly(text, 12, 11, x=X).graph, "MaxPool").attributes["ceil_mode"].value == 1


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER", "VALID"])
def test_padding_that_counts_is_zeros_before_there_was_a_word_for_it(auto_pad: str) -> None:
    attributes = f'kernel_shape = [4], strides = [2], auto_pad = "{auto_pad}", count_include_pad = 1'
    convert_exactly(LINE.format(f"AveragePool<{attributes}>").replace("N", "7"), 7, 6, x=X)


def test_a_window_of_padding_gives_the_least_byte() -> None:
    text = "g (uint8[1,1,2] x) => (uint8[1,1,4] y) { y = MaxPool<kernel_shape = [1], pads = [1, 1]>(x) }"
    assert "MaxPool" in op_types(convert_exactly(text, 12, 11, x=np.array([[[7, 9]]], np.uint8)))


def test_unused_indices_are_left_out() -> None:
    text = "g (float[1,2,7] x) => (float[1,2,3] y) { y, i = MaxPool<kernel_shape = [3], strides = [2], storage_order = 1>(x) }"
    down = convert_exactly(text, 8, 7, x=X)
    assert len(only(down.graph, "MaxPool").outputs) == 1


@pytest.mark.parametrize("op", ["LpPool<p = 1.5, kernel_shape = [3]>", "GlobalLpPool<p = 2.5>"])
def test_a_broken_power_is_taken_outside(op: str) -> None:
    up = convert_closely(LINE.format(op), 1, 2, x=X)
    assert op_types(up) == ["Cast", "Abs", "Pow", op.split("<")[0], "Pow", "Cast"]
