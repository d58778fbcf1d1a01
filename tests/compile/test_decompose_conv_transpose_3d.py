"""Transposed convolutions and Lp pooling of three dims are native."""

from __future__ import annotations

import numpy as np
import pytest

from compile.native_agreement import assert_engines_agree
from sardonyx._src.ir import Array

DRAW = np.random.default_rng(12)


def draw(*shape: int) -> Array:
    return DRAW.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("dims", ["N,4,3,H,W", "2,4,3,4,5", "2,4,1,1,1", "N,4,D,H,W"])
@pytest.mark.parametrize("has_bias", [False, True])
@pytest.mark.parametrize(
    ("attributes", "kernel"),
    [
        ("", (3, 3, 3)),
        ("strides = [2, 3, 1], pads = [1, 0, 1, 0, 1, 0]", (3, 3, 2)),
        ("strides = [3, 1, 2], output_padding = [2, 0, 1]", (2, 1, 3)),
        ("dilations = [2, 1, 2], strides = [2, 2, 2]", (2, 3, 2)),
        ("group = 2, pads = [1, 1, 1, 1, 1, 1], strides = [2, 2, 2], output_padding = [1, 1, 1]", (4, 4, 4)),
        ("strides = [4, 1, 1]", (1, 1, 1)),
    ],
)
def test_transposed_convolutions(
    dims: str, attributes: str, kernel: tuple[int, ...], *, has_bias: bool
) -> None:
    group = 2 if "group" in attributes else 1
    weights = (4, 6 // group, *kernel)
    sizes = (2, 4, 1, 1, 1) if dims.endswith("1,1,1") else (2, 4, 3, 4, 5)
    if dims.endswith("1,1,1") and "pads" in attributes and "group" not in attributes:
        return  # results without elements
    bias = ", float[6] b" if has_bias else ""
    text = f"""g (float[{dims}] x, float[{",".join(map(str, weights))}] w{bias}) => (float[P,Q,R,S,T] y)
        {{ t = ConvTranspose {f"<{attributes}>" if attributes else ""} (x, w{", b" if has_bias else ""}) y = Neg(t) }}"""
    feeds = {"x": draw(*sizes), "w": draw(*weights)} | ({"b": draw(6)} if has_bias else {})
    assert_engines_agree(text, feeds)


@pytest.mark.parametrize("p", [1, 2, 3, 5])
@pytest.mark.parametrize(
    "attributes",
    ["", ", strides = [2, 1, 3], pads = [1, 0, 1, 0, 1, 1]", ", ceil_mode = 1, strides = [2, 2, 2]"],
)
@pytest.mark.parametrize("dims", ["1,3,6,7,8", "N,3,D,H,W"])
def test_lp_pooling(p: int, attributes: str, dims: str) -> None:
    text = f"g (float[{dims}] x) => (float[P,Q,R,S,T] y) {{ y = LpPool <kernel_shape = [2, 2, 2], p = {p}{attributes}> (x) }}"
    x = draw(1, 3, 6, 7, 8)
    x[0, 0, 0, 0, 0], x[0, 1, 3, 3, 3], x[0, 2, 5, 5, 5] = np.inf, np.nan, 0
    assert_engines_agree(text, {"x": x})
