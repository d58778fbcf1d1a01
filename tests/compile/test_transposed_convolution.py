"""Transposed convolutions, against products scattered in float64."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compile import guarded
from compile.stages import AVX2
from models import parse_model
from sardonyx._src.compile.codegen.expressions import Apply, Local
from sardonyx._src.compile.kernels.conv.transposed import (
    pack_transposed_weights,
    transposed_convolution_steps,
)
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.compile.program import Window
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import symbol

X = Local("x")


def draw(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def reference(
    x: Array, weights: Array, bias: Array, window: Window, groups: int, size: tuple[int, int]
) -> Array:
    """The transposed convolution of x [N, H, W, C] with an output of height and width `size`, in float64."""
    images, height, width, channels = x.shape
    columns = weights.shape[1]
    y = np.zeros((images, *size, groups * columns)) + bias
    group_channels = channels // groups
    for g, iy, ix, ky, kx in np.ndindex(groups, height, width, *window.kernel):
        oy = iy * window.strides[0] - window.begin_pads[0] + ky * window.dilations[0]
        ox = ix * window.strides[1] - window.begin_pads[1] + kx * window.dilations[1]
        if 0 <= oy < size[0] and 0 <= ox < size[1]:
            group_slice = slice(g * group_channels, (g + 1) * group_channels)
            taps = weights[group_slice, :, ky, kx].astype(np.float64)
            y[:, oy, ox, g * columns : (g + 1) * columns] += x[:, iy, ix, group_slice] @ taps
    return y


def test_an_epilogue_reads_matrices_of_symbolic_size() -> None:
    window, epilogue = (
        Window((4, 4), (2, 2), begin_pads=(1, 1)),
        Epilogue(Apply("add", (X, Local("o0"))), ("matrix",)),
    )
    x, weights, operand = draw(1, 2, 5, 4, 9), draw(2, 9, 20, 4, 4), draw(4, 2, 10, 8, 20)
    y = np.zeros((2, 10, 8, 20), np.float32)
    (x_tensor, x_buffer), (y_tensor, y_buffer), (operand_tensor, operand_buffer) = (
        guarded.tensor(a) for a in (x, y, operand)
    )
    h, w = symbol("H"), symbol("W")
    x_tensor = replace(x_tensor, shape=(2, h, w, 9), strides=(h * w * 9, w * 9, 9, 1))
    strides = (h * w * 80, w * 40, 20, 1)
    y_tensor, operand_tensor = (
        replace(t, shape=(2, h * 2, w * 2, 20), strides=strides) for t in (y_tensor, operand_tensor)
    )
    phases = pack_transposed_weights(weights, None, window, host_target())
    steps = transposed_convolution_steps(x_tensor, phases, y_tensor, epilogue, [operand_tensor])
    guarded.run(steps, {x_buffer: x, y_buffer: y, operand_buffer: operand}, {"H": 5, "W": 4})
    expected = reference(x, weights, np.zeros(20, np.float32), window, 1, (10, 8)) + operand
    np.testing.assert_allclose(y, expected, 0, 1e-5)  # 2^-24 of sums near 30


def test_narrow_groups_are_transposed() -> None:
    window = Window((4, 4), (2, 2), begin_pads=(1, 1))
    x, weights, bias = draw(1, 1, 4, 5, 32), draw(2, 32, 4, 4, 4), draw(3, 32)
    y = np.full((1, 8, 10, 32), np.nan, np.float32)
    (x_tensor, x_buffer), (y_tensor, y_buffer) = guarded.tensor(x), guarded.tensor(y)
    phases = pack_transposed_weights(weights, bias, window, host_target(), 8)
    guarded.run(transposed_convolution_steps(x_tensor, phases, y_tensor), {x_buffer: x, y_buffer: y})
    np.testing.assert_allclose(
        y, reference(x, weights, bias, window, 8, (8, 10)), 0, 1e-5
    )  # 2^-24 of sums near 30


@pytest.mark.parametrize("shape", [(0, 4, 4, 3), (1, 0, 4, 3), (2, 1, 1, 3)], ids=str)
def test_empty_images(shape: tuple[int, ...]) -> None:
    window = Window((3, 3), (2, 2))
    x, weights, bias = draw(1, *shape), draw(2, 3, 5, 3, 3), draw(3, 5)
    y = np.full((shape[0], 3, 9, 5), np.nan, np.float32)
    (x_tensor, x_buffer), (y_tensor, y_buffer) = guarded.tensor(x), guarded.tensor(y)
    phases = pack_transposed_weights(weights, bias, window, host_target())
    guarded.run(transposed_convolution_steps(x_tensor, phases, y_tensor), {x_buffer: x, y_buffer: y})
    np.testing.assert_allclose(
        y, reference(x, weights, bias, window, 1, (3, 9)), 0, 1e-5
    )  # a sum of some terms


def upsampling(stride: int) -> Executable:
    text = f"""g (float[1,2,4,4] x) => (float[1,A,B,C] y) <float[2,1,1,2] w = {{1, 2, 3, 4}}> {{
      y = ConvTranspose <strides = [{stride}, {stride}]> (x, w) }}"""
    return compile_model(parse_model(text, opset=22), AVX2)


@pytest.mark.parametrize("stride", [2, 32])
def test_strides_of_upsampling_to_pixels_are_native(stride: int) -> None:
    program = upsampling(stride).program
    assert len(program.steps) >= stride * stride
    assert len({step.kernel.key for step in program.steps}) <= 3


@pytest.mark.parametrize("stride", [33, 64, 1 << 20, 1 << 41, (1 << 62) - 1])
def test_strides_of_too_many_phases_are_left_to_the_reference_kernel(stride: int) -> None:
    assert not upsampling(stride).program.steps
