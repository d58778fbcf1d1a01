"""The gradient of a convolution by its weights, against sums in float64, and in models that `sx.gradient` makes."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile import guarded
from models import parse_model
from sardonyx._src.compile.kernels.conv.weight_gradient import weight_gradient_steps
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.compile.program import Window
from sardonyx._src.ir import Array


def draw(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def compute_expected(x: Array, dy: Array, window: Window, groups: int) -> Array:
    """dw [M, C / groups, *kernel] of x [N, H, W, C] and dy [N, Ho, Wo, M], tap by tap in float64."""
    channels, (_, rows, pixels, columns) = x.shape[-1], dy.shape
    padded = np.pad(x.astype(np.float64), ((0, 0), (50, 50), (50, 50), (0, 0)))
    dw = np.zeros((columns, channels // groups, *window.kernel))
    for ky, kx in np.ndindex(*window.kernel):
        top = 50 - int(str(window.begin_pads[0])) + ky * window.dilations[0]
        left = 50 - int(str(window.begin_pads[1])) + kx * window.dilations[1]
        taken = padded[:, top : top + rows * window.strides[0] : window.strides[0]]
        taken = taken[:, :rows, left : left + pixels * window.strides[1] : window.strides[1]][:, :, :pixels]
        for g in range(groups):
            part, own = channels // groups, columns // groups
            factors = taken[..., g * part : (g + 1) * part], dy[..., g * own : (g + 1) * own]
            dw[g * own : (g + 1) * own, :, ky, kx] = np.einsum("nhwc,nhwm->mc", *factors)
    return dw


@pytest.mark.parametrize(
    ("image", "channels", "columns", "groups", "window", "out"),
    [
        ((6, 7), 20, 33, 1, Window((3, 3), begin_pads=(1, 1)), (6, 7)),
        ((6, 7), 13, 64, 1, Window((3, 3), begin_pads=(1, 1)), (6, 7)),
        ((9, 140), 3, 5, 1, Window((3, 3), begin_pads=(1, 1)), (9, 140)),
        ((11, 12), 3, 70, 1, Window((7, 7), (2, 2), begin_pads=(3, 3)), (6, 6)),
        ((10, 9), 8, 12, 1, Window((3, 2), (2, 3), (2, 1), begin_pads=(0, 1)), (3, 3)),
        ((5, 5), 18, 8, 1, Window((1, 1)), (5, 5)),  # two even blocks of channels in a tile of one vector
        ((5, 5), 40, 17, 1, Window((1, 1)), (5, 5)),
        ((5, 5), 40, 17, 1, Window((1, 1), (2, 2)), (3, 3)),
        ((2, 2), 9, 16, 1, Window((3, 3), begin_pads=(1, 1)), (2, 2)),
        ((2, 2), 4, 4, 1, Window((5, 5), begin_pads=(9, 9)), (16, 16)),
        ((5, 6), 12, 20, 4, Window((3, 3), begin_pads=(1, 1)), (5, 6)),
        ((5, 6), 6, 6, 6, Window((3, 3)), (3, 4)),
    ],
    ids=str,
)
def test_kernel(
    image: tuple[int, int],
    channels: int,
    columns: int,
    groups: int,
    window: Window,
    out: tuple[int, int],
) -> None:
    x, dy = draw(1, 3, *image, channels), draw(2, 3, *out, columns)
    dw = np.full((columns, channels // groups, *window.kernel), np.nan, np.float32)
    (x_tensor, x_buffer), (dy_tensor, dy_buffer), (dw_tensor, dw_buffer) = map(guarded.tensor, (x, dy, dw))
    steps = weight_gradient_steps(x_tensor, dy_tensor, dw_tensor, window, host_target(), groups)
    guarded.run(steps, {x_buffer: x, dy_buffer: dy, dw_buffer: dw})
    np.testing.assert_allclose(dw, compute_expected(x, dy, window, groups), 1e-5, 1e-4)


MODELS = [
    ("float[N,12,9,8] x, float[20,12,3,3] w", "pads = [1, 1, 1, 1]"),
    ("float[N,12,H,W] x, float[20,12,3,3] w", "pads = [1, 0, 1, 0]"),
    ("float[N,12,10,8] x, float[20,12,3,3] w", "strides = [2, 2], pads = [1, 1, 1, 1]"),
    ("float[N,12,9,8] x, float[20,12,3,3] w", "dilations = [2, 1], strides = [1, 3]"),
    ("float[2,8,9,8] x, float[20,2,3,3] w", "group = 4"),
    ("float[N,5,9] x, float[6,5,4] w", "pads = [1, 2]"),
]


@pytest.mark.parametrize(("inputs", "attributes"), MODELS)
def test_gradients_are_native(inputs: str, attributes: str) -> None:
    out = "float[N,M,P,Q]" if "3,3" in inputs else "float[N,M,P]"
    model = parse_model(f"g ({inputs}) => ({out} y) {{ c = Conv<{attributes}>(x, w) y = Tanh(c) }}", opset=22)
    gradients = sx.gradient(model, of="y", wrt=["x", "w"])
    native, reference = (sx.Session(gradients, engine=engine) for engine in ("native", "reference"))
    assert native.stats.fallback_nodes == 0
    sizes = {"N": 2, "H": 11, "W": 7}
    feeds = {
        value.name: draw(i, *(d if isinstance(d, int) else sizes[str(d)] for d in value.shape or ()))
        for i, value in enumerate(native.inputs)
    }
    actual, expected = native.run(feeds), reference.run(feeds)
    for name, array in expected.items():
        np.testing.assert_allclose(actual[name], array, 1e-4, 1e-4)


def test_gradients_by_weights_are_one_kernel() -> None:
    model = parse_model(
        "g (float[4,12,10,8] x, float[20,12,3,3] w) => (float[4,20,5,4] y) "
        "{ c = Conv<strides = [2, 2], pads = [1, 1, 1, 1]>(x, w) y = Tanh(c) }",
        opset=22,
    )
    program = compile_model(sx.gradient(model, of="y", wrt=["w"]), host_target()).program
    keys = [step.kernel.key for step in program.steps]
    assert any(key.startswith("conv_weight_gradient") for key in keys)
    assert sum(key.startswith("convolution") for key in keys) == 1  # the one that is differentiated
