"""ConvInteger and QLinearConv are native and exact for uint8 weights of any zero point, and for weights and zero points of a run."""

from __future__ import annotations

import numpy as np
import pytest

from compile.native_agreement import assert_engines_agree
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array

DRAW = np.random.default_rng(3)


def integers(dtype: str, *shape: int) -> Array:
    """Random bytes, the extreme ones often."""
    limits = np.iinfo(dtype)
    ends = DRAW.choice([limits.min, limits.max], shape)
    return np.where(DRAW.random(shape) < 0.5, ends, DRAW.integers(limits.min, limits.max, shape)).astype(
        dtype
    )


def literal(name: str, array: Array) -> str:
    kind, dims = DataType.of(array.dtype).text, ",".join(map(str, array.shape))
    return f"{kind}[{dims}] {name} = {{{', '.join(map(str, array.reshape(-1)))}}}"


@pytest.mark.parametrize("x_zero", ["", ", xz"])
@pytest.mark.parametrize(
    ("dtype", "zeros"), [("uint8", None), ("uint8", 1), ("uint8", 5), ("int8", 5), ("int8", 1)]
)
def test_constant_weights_of_any_zero_point(dtype: str, zeros: int | None, x_zero: str) -> None:
    w = literal("w", integers(dtype, 5, 4, 3, 3))
    z = "" if zeros is None else ", " + literal("wz", integers(dtype, zeros))
    names = f"x, w{x_zero or ', '}" + (", wz" if zeros else "")
    text = f"""g (uint8[N,4,H,W] x, uint8 xz) => (int32[N,5,P,Q] y) <{w}{z}>
      {{ y = ConvInteger <pads = [1, 0, 2, 1], strides = [1, 2]> ({names}) }}"""
    feeds = [
        {"x": integers("uint8", n, 4, h, h + 1), "xz": np.array(77, np.uint8)} for n, h in ((1, 5), (2, 17))
    ]
    assert_engines_agree(text, *feeds)


@pytest.mark.parametrize(("channels", "group"), [(1, 1), (4, 1), (4, 2), (40, 1)])
@pytest.mark.parametrize("zeros", [None, 1, 6])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_weights_of_a_run(dtype: str, zeros: int | None, channels: int, group: int) -> None:
    """Of 9 to 360 terms, which are more than float32 adds exactly at once."""
    point = "" if zeros is None else f", {dtype}[{zeros}] wz"
    text = f"""g (uint8[N,{channels},H,W] x, {dtype}[6,{channels // group},3,3] w, uint8 xz{point}) => (int32[N,6,P,Q] y)
      {{ y = ConvInteger <pads = [1, 1, 1, 1], group = {group}> (x, w, xz{", wz" if zeros else ""}) }}"""
    feeds = []
    for n, h in ((1, 4), (2, 17)):
        feed = {"x": integers("uint8", n, channels, h, h), "w": integers(dtype, 6, channels // group, 3, 3)}
        feed |= {"xz": np.array(255, np.uint8)} | ({} if zeros is None else {"wz": integers(dtype, zeros)})
        feeds.append(feed)
    assert_engines_agree(text, *feeds)


@pytest.mark.parametrize("bias", ["", ", b"])
@pytest.mark.parametrize(("dtype", "zeros"), [("uint8", 1), ("uint8", 5), ("int8", 5)])
def test_requantized_constant_weights_of_any_zero_point(dtype: str, zeros: int, bias: str) -> None:
    w, z = literal("w", integers(dtype, 5, 4, 3, 3)), literal("wz", integers(dtype, zeros))
    b = literal("b", np.array([0, 5000, -70000, 3, 1], np.int32))
    scales = literal("ws", np.linspace(0.001, 0.02, zeros, dtype=np.float32))
    text = f"""g (uint8[N,4,H,W] x) => (uint8[N,5,P,Q] y) <{w}, {z}, {b}, {scales}, float s = {{0.05}}, uint8 xz = {{99}}, float t = {{0.7}}>
      {{ y = QLinearConv <pads = [1, 1, 1, 1]> (x, s, xz, w, ws, wz, t, xz{bias}) }}"""
    assert_engines_agree(text, *({"x": integers("uint8", n, 4, h, h)} for n, h in ((1, 5), (2, 17))))


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_requantized_convolutions_with_parameters_of_a_run(dtype: str) -> None:
    """Also scales of 0 and infinity, which make NaN of some sums."""
    text = f"""g (uint8[N,4,H,W] x, float s, uint8 xz, {dtype}[6,4,3,3] w, float[6] ws, {dtype}[6] wz, float t, {dtype} yz, int32[6] b)
      => ({dtype}[N,6,P,Q] y) {{ y = QLinearConv(x, s, xz, w, ws, wz, t, yz, b) }}"""
    feeds = []
    for n, h, s, t in ((1, 5, 0.05, 0.7), (2, 17, 0.0, 0.0), (1, 3, np.inf, 1.0)):
        feeds.append(
            {
                "x": integers("uint8", n, 4, h, h),
                "s": np.array(s, np.float32),
                "xz": np.array(99, np.uint8),
                "w": integers(dtype, 6, 4, 3, 3),
                "ws": np.linspace(0.001, 0.02, 6, dtype=np.float32),
                "wz": integers(dtype, 6),
                "t": np.array(t, np.float32),
                "yz": integers(dtype, 1).reshape(()),
                "b": np.array([0, 5000, -70000, 3, 1, -1], np.int32),
            }
        )
    with np.errstate(all="ignore"):
        assert_engines_agree(text, *feeds)
