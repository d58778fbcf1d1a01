"""The gradient of MaxPool is one kernel, and equal to that of the reference engine."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.ir import Array, Model

WINDOWS = [
    ("kernel_shape = [2, 2], strides = [2, 2]", (6, 8)),
    ("kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]", (7, 8)),
    ("kernel_shape = [3, 2], dilations = [2, 1], pads = [1, 0, 1, 1]", (6, 5)),
    ("kernel_shape = [3, 2], strides = [4, 3], ceil_mode = 1", (10, 11)),
    ("kernel_shape = [3], strides = [2], pads = [1, 1]", (9,)),
]


def gradient_model(window: str, channels: int, sizes: tuple[int, ...], more: str = "y = Mul(p, q)") -> Model:
    dims = f"float[2,{channels},{','.join(map(str, sizes))}]"
    out = f"float[2,{channels},{','.join('PQ'[: len(sizes)])}]"
    text = f"g ({dims} x, {out} q) => (float y) {{ p = MaxPool<{window}>(x) {more} }}"
    return sx.gradient(
        parse_model(text.replace("=> (float y)", f"=> ({out} y)"), opset=22), of="y", wrt=["x"]
    )


def draw(seed: int, *shape: int) -> Array:
    """Numbers with ties, and with an infinity and a NaN that decide windows."""
    x = np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float32)
    x[0, 0] = -np.inf
    x.reshape(-1)[[-9, -20]] = np.nan
    return x


@pytest.mark.parametrize("channels", [3, 16, 70])
@pytest.mark.parametrize(("window", "sizes"), WINDOWS)
def test_gradients_are_those_of_the_reference_engine(
    window: str, sizes: tuple[int, ...], channels: int
) -> None:
    model = gradient_model(window, channels, sizes)
    native, reference = (sx.Session(model, engine=engine) for engine in ("native", "reference"))
    assert native.stats.fallback_nodes == 0
    x = draw(1, 2, channels, *sizes)
    pooled = sx.Session(gradient_pool(window, x)).run({"x": x})["p"]
    feeds = {"x": x, "q": np.random.default_rng(2).integers(-3, 4, np.shape(pooled)).astype(np.float32)}
    actual, expected = native.run(feeds), reference.run(feeds)
    assert set(actual) == set(expected)
    for name, array in expected.items():
        np.testing.assert_array_equal(actual[name], array)


def gradient_pool(window: str, x: Array) -> Model:
    dims = ",".join(map(str, x.shape))
    return parse_model(
        f"g (float[{dims}] x) => (float[{','.join('ABCD'[: x.ndim])}] p) {{ p = MaxPool<{window}>(x) }}"
    )


@pytest.mark.parametrize(
    "more", ["y = Mul(p, q)", "s = Constant<value = int64[2] {2, -1}>() f = Reshape(p, s) y = Exp(f)"]
)
def test_gradient_is_one_kernel(more: str) -> None:
    model = gradient_model("kernel_shape = [2, 2], strides = [2, 2]", 5, (6, 8), more)
    keys = [step.kernel.key for step in compile_model(model, host_target()).program.steps]
    assert "max_pool_gradient" in keys and not any(key.startswith("pick") for key in keys)
