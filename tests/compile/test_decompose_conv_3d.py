"""Convolutions over three spatial dims run as native convolutions over two."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.ir import Model, Tensor

F = np.float32


def conv_model(attributes: str, dims: str, weights: tuple[int, ...], *, has_bias: bool = True) -> Model:
    model = parse_model(
        f"g (float[{dims}] x) => (float[N,M,P,Q,R] y) <float[1] w = {{0}}, float[1] b = {{0}}> "
        f"{{ a = Conv <{attributes}> (x, w{', b' if has_bias else ''}) y = Relu(a) }}",
        opset=22,
    )
    draw = np.random.default_rng(8)
    for name, shape in (("w", weights), ("b", weights[:1])):
        model.graph.initializers[name].initializer = Tensor.of(
            draw.integers(-3, 4, shape).astype(F), name=name
        )
    return model


@pytest.mark.parametrize("dims", ["N,4,6,H,W", "2,4,6,7,5"])
@pytest.mark.parametrize(
    ("attributes", "kernel"),
    [
        ("pads = [1, 1, 1, 1, 1, 1]", (3, 3, 3)),
        ("strides = [2, 2, 1], pads = [0, 1, 0, 2, 0, 1]", (3, 2, 1)),
        ("dilations = [2, 1, 2], pads = [1, 0, 1, 0, 0, 1]", (2, 1, 3)),
        ("group = 2, pads = [0, 1, 1, 0, 1, 1]", (1, 3, 3)),
        ("group = 4", (2, 2, 2)),
        ("group = 1", (1, 1, 1)),
        ("strides = [2, 1, 1], dilations = [2, 1, 1], pads = [1, 0, 0, 2, 0, 0]", (2, 1, 1)),
        ("strides = [1, 1, 2], pads = [0, 0, 2, 0, 0, 1]", (1, 1, 3)),
        ("strides = [1, 1, 2], pads = [0, 1, 0, 0, 0, 0]", (1, 1, 1)),
    ],
)
def test_convolutions(attributes: str, kernel: tuple[int, ...], dims: str) -> None:
    group = int(attributes[8]) if attributes.startswith("group") else 1
    model = conv_model(attributes, dims, (8, 4 // group, *kernel), has_bias="dilations" not in attributes)
    native, reference = (sx.Session(model, engine=engine, threads=1) for engine in ("native", "reference"))
    assert native.stats.fallback_nodes == 0
    feeds = {"x": np.random.default_rng(1).integers(-3, 4, (2, 4, 6, 7, 5)).astype(F)}
    actual, expected = native.run(feeds)["y"], reference.run(feeds)["y"]
    np.testing.assert_allclose(actual, expected, atol=0.01)


@pytest.mark.parametrize(
    ("attributes", "kernel"),
    [
        ("pads = [1, 1, 1, 1, 1, 1]", (3, 3, 3)),
        ("strides = [2, 2, 2], pads = [1, 1, 1, 1, 1, 1]", (3, 3, 3)),
        ("strides = [3, 1, 1], pads = [2, 0, 1, 3, 0, 1], dilations = [2, 1, 1]", (3, 2, 3)),
        ("strides = [2, 1, 2]", (1, 2, 2)),
        ("strides = [2, 1, 1]", (1, 1, 1)),
    ],
)
def test_open_depths(attributes: str, kernel: tuple[int, ...]) -> None:
    model = conv_model(attributes, "N,4,D,H,W", (2, 4, *kernel))
    native, reference = (sx.Session(model, engine=engine, threads=1) for engine in ("native", "reference"))
    assert native.stats.fallback_nodes == 0
    for depth in (1, 2, 5, 6):
        feeds = {"x": np.random.default_rng(depth).integers(-3, 4, (2, 4, depth, 7, 5)).astype(F)}
        np.testing.assert_allclose(native.run(feeds)["y"], reference.run(feeds)["y"], 1e-5, 1e-5)


@pytest.mark.parametrize("strides", ["[1, 1, 1]", "[2, 1, 1]"])
def test_open_depths_that_may_be_too_small_are_guarded(strides: str) -> None:
    model = conv_model(f"strides = {strides}", "N,4,D,H,W", (2, 4, 3, 2, 2))
    native, reference = (sx.Session(model, engine=engine) for engine in ("native", "reference"))
    assert native.stats.fallback_nodes == 0
    for depth in (2, 3, 4, 7):
        feeds = {"x": np.random.default_rng(depth).integers(-3, 4, (1, 4, depth, 3, 2)).astype(F)}
        np.testing.assert_allclose(native.run(feeds)["y"], reference.run(feeds)["y"], 1e-5, 1e-5)
    for session in (native, reference):
        with pytest.raises(sx.EvaluationError, match="a window of 3 must fit the padded input; got 0"):
            session.run({"x": np.zeros((1, 4, 0, 3, 2), F)})


def test_results_without_slices() -> None:
    model = conv_model("strides = [1, 1, 1]", "1,4,1,5,5", (2, 4, 2, 2, 2))
    native, reference = (sx.Session(model, engine=engine) for engine in ("native", "reference"))
    feeds = {"x": np.zeros((1, 4, 1, 5, 5), F)}
    np.testing.assert_array_equal(native.run(feeds)["y"], reference.run(feeds)["y"])
