"""Gradients of grouped and depthwise convolutions by their weights are one kernel, equal to sums in float64."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile.test_weight_gradient import draw
from models import parse_model
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.ir import Model

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
