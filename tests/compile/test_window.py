"""Windows: what their fields imply, by hand."""

from __future__ import annotations

import pytest

from sardonyx._src.compile.program import Window
from sardonyx._src.compile.program.operands.window import window_of_attributes


def test_taps_and_spans() -> None:
    window = Window((3, 2), (2, 1), (1, 4))
    assert (window.rank, window.num_taps, window.spans) == (2, 6, (3, 5))


def test_attributes_of_onnx_have_pads_before_all_axes_first() -> None:
    window = window_of_attributes([3, 2], [1, 2], [1, 1], [0, 1, 2, 3])
    assert (window.begin_pads, window.end_pads) == ((0, 1), (2, 3))


def test_one_axis_becomes_the_width_of_an_image() -> None:
    line = window_of_attributes([3], [2], [4], [1, 5])
    assert line.as_image() == Window((1, 3), (1, 2), (1, 4), (0, 1), (0, 5))
    volume = window_of_attributes([3, 1, 1], [1, 1, 1], [1, 1, 1], [0] * 6)
    assert volume.as_image() is volume


@pytest.mark.parametrize(
    ("window", "is_pointwise"),
    [
        (Window(), True),
        (Window(end_pads=(0, 1)), True),
        (Window((1, 3)), False),
        (Window(strides=(2, 1)), False),
        (Window(begin_pads=(0, 1)), False),
        (window_of_attributes([1], [1], [7], [0, 0]), True),
    ],
    ids=str,
)
def test_pointwise(window: Window, is_pointwise: bool) -> None:
    assert window.is_pointwise == is_pointwise


def test_arguments_of_images() -> None:
    assert Window((1, 2), (3, 4), (5, 6), (7, 8), (9, 10)).image_arguments == {
        "kernel_height": 1, "kernel_width": 2, "stride_y": 3, "stride_x": 4, "dilation_y": 5, "dilation_x": 6,
        "top": 7, "left": 8,
    }  # fmt: skip
