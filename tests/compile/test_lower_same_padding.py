"""Convolutions and pooling with `auto_pad` over sizes that are not constant are native, and agree with the reference engine."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.ir import Model, Tensor

F = (
    np.float32
)  # of whole numbers: a wrong pixel is an error of 1, rounding by a Winograd transform one of 1e-4
SIZES = [(1, 1), (2, 3), (5, 4), (8, 9), (17, 31)]
WINDOWS = [
    "kernel_shape = [3, 3]",
    "kernel_shape = [4, 2]",
    "kernel_shape = [1, 1]",
    "kernel_shape = [3, 5], dilations = [2, 1]",
]


def conv_model(
    operator: str, kernel: tuple[int, int], attributes: str, channels: int = 3, group: int = 1
) -> Model:
    model = parse_model(
        "g (float[N,C,H,W] x) => (float[N,D,P,Q] y) <float[1] w = {0}> "
        f"{{ a = {operator} <{attributes}, group = {group}> (x, w) y = Relu(a) }}".replace(
            "N,C,", f"N,{channels},"
        )
    )
    shape = (channels * 2 if group == 1 else channels, channels // group, *kernel)
    weights = np.random.default_rng(3).integers(-4, 5, shape)
    model.graph.initializers["w"].initializer = Tensor.of(weights.astype(F), name="w")
    return model


def assert_native_and_equal(model: Model, channels: int) -> None:
    native, reference = (sx.Session(model, engine=engine) for engine in ("native", "reference"))
    assert native.stats.fallback_nodes == 0
    draw = np.random.default_rng(5)
    for batch, (height, width) in enumerate(SIZES, 1):
        feeds = {"x": draw.integers(-4, 5, (batch, channels, height, width)).astype(F)}
        actual, expected = native.run(feeds)["y"], reference.run(feeds)["y"]
        np.testing.assert_allclose(actual, expected, atol=0.01)
    assert not native.stats.bailouts


@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("strides", ["[1, 1]", "[2, 2]", "[3, 1]"])
@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize(("channels", "group"), [(3, 1), (20, 1), (6, 6)])
def test_convolutions(window: str, strides: str, mode: str, channels: int, group: int) -> None:
    first, second = map(int, window.partition("[")[2].partition("]")[0].split(","))
    attributes = f'{window}, strides = {strides}, auto_pad = "{mode}"'
    assert_native_and_equal(conv_model("Conv", (first, second), attributes, channels, group), channels)


@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool", "AveragePool <count_include_pad = 1>"])
@pytest.mark.parametrize("strides", ["[1, 1]", "[2, 3]"])
@pytest.mark.parametrize("mode", ["SAME_UPPER", "SAME_LOWER"])
def test_pooling(operator: str, strides: str, mode: str) -> None:
    name, _, more = operator.partition(" ")
    attributes = f'kernel_shape = [3, 2], strides = {strides}, auto_pad = "{mode}"'
    attributes += ", " + more.strip("<>") if more else ""
    model = parse_model(f"g (float[N,5,H,W] x) => (float[N,5,P,Q] y) {{ y = {name} <{attributes}> (x) }}")
    assert_native_and_equal(model, 5)


def test_sequences_of_any_length() -> None:
    model = parse_model(
        "g (float[1,2,T] x) => (float[1,2,S] y) <float[2,2,3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6}> "
        '{ y = Conv <auto_pad = "SAME_LOWER", strides = [2]> (x, w) }'
    )
    native, reference = (sx.Session(model, engine=engine) for engine in ("native", "reference"))
    assert native.stats.fallback_nodes == 0
    for length in (1, 2, 5, 8):
        feeds = {"x": np.arange(2 * length, dtype=F).reshape(1, 2, length)}
        np.testing.assert_allclose(native.run(feeds)["y"], reference.run(feeds)["y"], rtol=1e-6)


def test_quantized_convolutions() -> None:
    model = parse_model(
        "g (uint8[N,4,H,W] x, uint8 z) => (int32[N,2,P,Q] y) <int8[2,4,1,2] w = {1, 2, 3, 4, 5, 6, 7, -8, 9, 8, 7, 6, 5, 4, 3, 2}> "
        '{ y = ConvInteger <auto_pad = "SAME_UPPER", strides = [2, 2]> (x, w, z) }'
    )
    native, reference = (sx.Session(model, engine=engine) for engine in ("native", "reference"))
    assert native.stats.fallback_nodes == 0
    draw = np.random.default_rng(5)
    for height, width in SIZES:
        feeds = {"x": draw.integers(0, 255, (2, 4, height, width), np.uint8), "z": np.array(7, np.uint8)}
        np.testing.assert_array_equal(native.run(feeds)["y"], reference.run(feeds)["y"])
