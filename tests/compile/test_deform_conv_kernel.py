"""DeformConv is native: groups, offset groups, masks, biases, open sizes, points outside of the image and at no place."""

from __future__ import annotations

import numpy as np
import pytest

from compile.native_agreement import assert_engines_agree
from compile.reference_comparison import normal
from sardonyx._src.ir import Array


def model_text(
    group: int, offset_group: int, rest: str, inputs: str, channels: int = 12, dtype: str = "float"
) -> str:
    declared = {
        "x": f"{dtype}[N,{channels},H,W] x",
        "w": f"{dtype}[8,{channels // group},3,2] w",
        "o": f"{dtype}[N,{offset_group * 12},P,Q] o",
        "b": f"{dtype}[8] b",
        "m": f"{dtype}[N,{offset_group * 6},P,Q] m",
    }
    names = [name.strip() for name in inputs.split(",")]
    head = ", ".join(declared[name] for name in names if name)
    return f"""g ({head}) => ({dtype}[N,8,P,Q] y)
        {{ y = DeformConv <group = {group}, offset_group = {offset_group}, {rest}> ({inputs}) }}"""


def feeds(
    images: int,
    size: tuple[int, int],
    out: tuple[int, int],
    group: int,
    offset_group: int,
    channels: int = 12,
) -> dict[str, Array]:
    return {
        "x": normal(images, channels, *size),
        "w": normal(8, channels // group, 3, 2, seed=1),
        "o": normal(images, offset_group * 12, *out, seed=2) * 2,
        "b": normal(8, seed=3),
        "m": normal(images, offset_group * 6, *out, seed=4),
    }


def select(values: dict[str, Array], inputs: str) -> dict[str, Array]:
    return {name: value for name, value in values.items() if name in inputs}


@pytest.mark.parametrize(("group", "offset_group"), [(1, 1), (1, 3), (2, 1), (2, 3), (4, 2), (4, 4)])
@pytest.mark.parametrize("inputs", ["x, w, o", "x, w, o, b", "x, w, o, , m", "x, w, o, b, m"])
def test_groups_and_inputs(inputs: str, group: int, offset_group: int) -> None:
    text = model_text(group, offset_group, "pads = [1, 1, 1, 0]", inputs)
    values = feeds(2, (6, 5), (6, 5), group, offset_group)
    more = feeds(1, (4, 9), (4, 9), group, offset_group)
    assert_engines_agree(text, select(values, inputs), select(more, inputs))


@pytest.mark.parametrize(
    ("rest", "size", "out"),
    [
        ("strides = [2, 1]", (7, 5), (3, 4)),
        ("dilations = [2, 3], pads = [2, 1, 2, 2]", (6, 5), (6, 5)),
        ("kernel_shape = [3, 2], strides = [3, 2], pads = [0, 0, 1, 1]", (6, 7), (2, 4)),
    ],
)
@pytest.mark.parametrize("channels", [4, 40])
def test_windows(channels: int, rest: str, size: tuple[int, int], out: tuple[int, int]) -> None:
    values = feeds(2, size, out, 1, 1, channels)
    assert_engines_agree(model_text(1, 1, rest, "x, w, o", channels), select(values, "x, w, o"))


def test_offsets_that_are_no_place() -> None:
    values = feeds(1, (6, 5), (6, 5), 1, 1)
    values["o"][0, 3, 2, 2], values["o"][0, 4, 1, 1], values["o"][0, 5, 0, 0] = np.nan, np.inf, 1e30
    values["x"][0, 1, 0, 0] = np.inf
    assert_engines_agree(model_text(1, 1, "pads = [1, 1, 1, 0]", "x, w, o"), select(values, "x, w, o"))


def test_half_precision() -> None:
    text = model_text(1, 1, "pads = [1, 1, 1, 0]", "x, w, o", dtype="float16")
    values = {name: value.astype(np.float16) for name, value in feeds(1, (6, 5), (6, 5), 1, 1).items()}
    assert_engines_agree(text, select(values, "x, w, o"))


def test_other_numbers_of_axes_fall_back() -> None:
    text = """g (float[1,2,6] x, float[3,2,3] w, float[1,3,4] o) => (float[1,3,4] y) { y = DeformConv(x, w, o) }"""
    values = {"x": normal(1, 2, 6), "w": normal(3, 2, 3), "o": normal(1, 3, 4)}
    assert_engines_agree(text, values, fallbacks=1)
