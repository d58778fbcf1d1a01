"""BatchNormalization in training mode, and its gradient, are native."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model

SHAPES = [(3, 5, 4, 6), (4, 7, 9), (6, 3), (2, 3, 2, 3, 4)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_training_mode(shape: tuple[int, ...]) -> None:
    channels, dims = shape[1], ",".join(map(str, shape[1:]))
    vectors = ", ".join(f"float[{channels}] {name}" for name in ("scale", "bias", "mean", "variance"))
    model = parse_model(
        f"g (float[N,{dims}] x, {vectors}) => (float[N,{dims}] y, float[{channels}] m, float[{channels}] v) "
        "{ y, m, v = BatchNormalization<training_mode = 1, momentum = 0.75, epsilon = 0.01>(x, scale, bias, mean, variance) }",
        opset=22,
    )
    rng = np.random.default_rng(1)
    feeds = {"x": rng.normal(2, 3, shape).astype(np.float32)}
    feeds |= {
        name: rng.uniform(0.5, 2, channels).astype(np.float32)
        for name in ("scale", "bias", "mean", "variance")
    }
    session = sx.Session(model, engine="native")
    assert session.stats.fallback_nodes == 0
    actual = session.run(feeds)
    x, axes = feeds["x"].astype(np.float64), (0, *range(2, len(shape)))
    mean, variance = x.mean(axes, keepdims=True), x.var(axes, keepdims=True)
    scale, bias = (feeds[name].reshape(1, -1, *[1] * (len(shape) - 2)) for name in ("scale", "bias"))
    expected = {
        "y": (x - mean) / np.sqrt(variance + 0.01) * scale + bias,
        "m": 0.75 * feeds["mean"] + 0.25 * mean.reshape(-1),
        "v": 0.75 * feeds["variance"] + 0.25 * variance.reshape(-1),
    }
    for name, array in expected.items():
        np.testing.assert_allclose(actual[name], array, 1e-5, 1e-5)


def test_gradient_shares_the_statistics() -> None:
    model = parse_model(
        "g (float[3,5,4,6] x, float[5] scale, float[5] bias, float[5] mean, float[5] variance) => (float[3,5,4,6] y) "
        "{ n, m, v = BatchNormalization<training_mode = 1>(x, scale, bias, mean, variance) y = Tanh(n) }",
        opset=22,
    )
    gradients = sx.gradient(model, of="y", wrt=["x", "scale", "bias"])
    rng = np.random.default_rng(2)
    feeds = {"x": rng.normal(2, 3, (3, 5, 4, 6)).astype(np.float32)}
    feeds |= {
        name: rng.uniform(0.5, 2, 5).astype(np.float32) for name in ("scale", "bias", "mean", "variance")
    }
    native, reference = (sx.Session(gradients, engine=engine) for engine in ("native", "reference"))
    assert native.stats.fallback_nodes == 0
    actual, expected = native.run(feeds), reference.run(feeds)
    for name, array in expected.items():
        np.testing.assert_allclose(actual[name], array, 1e-4, 1e-5)
