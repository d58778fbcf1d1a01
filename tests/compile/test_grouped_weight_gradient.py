"""Gradients of grouped and depthwise convolutions by their weights are one kernel, equal to sums in float64."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile import guarded
from compile.test_weight_gradient import compute_expected, draw
from models import parse_model
from sardonyx._src.compile.kernels.conv.packed_weights import ConvWindow
from sardonyx._src.compile.kernels.depthwise.weight_gradient import depthwise_weight_gradient_step
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.ir.model import Model


@pytest.mark.parametrize(
    ("image", "channels", "window", "out"),
    [
        ((6, 7), 1, ConvWindow((3, 3), pads=(1, 1)), (6, 7)),
        ((6, 7), 70, ConvWindow((3, 3), pads=(1, 1)), (6, 7)),
        ((9, 10), 130, ConvWindow((5, 3), (2, 2), pads=(2, 1)), (5, 5)),
        ((10, 9), 16, ConvWindow((3, 2), (2, 3), (2, 1), pads=(0, 1)), (3, 3)),
        ((2, 2), 64, ConvWindow((5, 5), pads=(9, 9)), (16, 16)),
    ],
    ids=str,
)
def test_depthwise_kernel(
    image: tuple[int, int], channels: int, window: ConvWindow, out: tuple[int, int]
) -> None:
    x, dy = draw(1, 3, *image, channels), draw(2, 3, *out, channels)
    dw = np.full((channels, 1, *window.kernel), np.nan, np.float32)
    (x_tensor, x_buffer), (dy_tensor, dy_buffer), (dw_tensor, dw_buffer) = map(guarded.tensor, (x, dy, dw))
    step = depthwise_weight_gradient_step(x_tensor, dy_tensor, dw_tensor, window)
    guarded.run(step, {x_buffer: x, dy_buffer: dy, dw_buffer: dw})
    np.testing.assert_allclose(dw, compute_expected(x, dy, window, channels), 1e-5, 1e-4)


MODELS = [
    ("float[2,8,9,8] x, float[20,2,3,3] w", "group = 4", "conv_weight_gradient"),
    ("float[N,12,H,W] x, float[6,4,3,3] w", "group = 3, pads = [1, 0, 1, 0]", "conv_weight_gradient"),
    ("float[N,6,10,8] x, float[12,1,3,3] w", "group = 6, strides = [2, 2]", "conv_weight_gradient"),
    ("float[N,8,10,8] x, float[4,2,3,3] w", "group = 4", "conv_weight_gradient"),
    ("float[2,20,9,8] x, float[20,1,3,3] w", "group = 20, strides = [2, 3]", "depthwise_weight_gradient"),
    ("float[N,20,H,W] x, float[20,1,5,3] w", "group = 20, pads = [2, 1, 2, 1]", "depthwise_weight_gradient"),
    ("float[N,5,9] x, float[5,1,4] w", "group = 5, pads = [1, 2]", "depthwise_weight_gradient"),
]


def gradient_model(inputs: str, attributes: str) -> Model:
    out = "float[N,M,P]" if "9] x" in inputs else "float[N,M,P,Q]"
    model = parse_model(f"g ({inputs}) => ({out} y) {{ c = Conv<{attributes}>(x, w) y = Tanh(c) }}", opset=22)
    return sx.gradient(model, of="y", wrt=["w"])


@pytest.mark.parametrize(("inputs", "attributes", "kernel"), MODELS)
def test_gradients_are_those_of_the_reference_engine(inputs: str, attributes: str, kernel: str) -> None:
    model = gradient_model(inputs, attributes)
    native, reference = (sx.Session(model, engine=engine) for engine in ("native", "reference"))
    assert native.stats.fallback_nodes == 0
    sizes = {"N": 2, "H": 11, "W": 7}
    feeds = {
        value.name: draw(i, *(d if isinstance(d, int) else sizes[str(d)] for d in value.shape or ()))
        for i, value in enumerate(native.inputs)
    }
    actual, expected = native.run(feeds), reference.run(feeds)
    assert set(actual) == set(expected)
    for name, array in expected.items():
        np.testing.assert_allclose(actual[name], array, 1e-4, 1e-4)


@pytest.mark.parametrize(("inputs", "attributes", "kernel"), MODELS)
def test_gradient_is_one_kernel(inputs: str, attributes: str, kernel: str) -> None:
    program = compile_model(gradient_model(inputs, attributes), host_target(), verify=True).program
    keys = [step.kernel.key for step in program.steps]
    assert sum(key.startswith(kernel) for key in keys) == 1, keys
    forward = [key for key in keys if key.startswith(("convolution", "depthwise_f32", "narrow"))]
    assert len(forward) == 1, keys  # the one that is differentiated
