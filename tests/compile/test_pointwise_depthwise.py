"""The fused pointwise and depthwise convolution: equal, bit for bit, to the two kernels that it replaces."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from compile import guarded
from compile.stages import regions_of
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.codegen.expressions import Apply, Local, Number
from sardonyx._src.compile.kernels.conv.convolution import convolution_step
from sardonyx._src.compile.kernels.conv.packed_weights import pack_conv_weights
from sardonyx._src.compile.kernels.depthwise.depthwise import depthwise_step, pack_depthwise_weights
from sardonyx._src.compile.kernels.depthwise.pointwise_depthwise import (
    pointwise_depthwise_step,
    rows_per_group,
)
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.tuning import PointwiseDepthwiseTuning
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program import Buffer, Step, TensorView, Window, row_major_strides
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Known, symbol

X, O0 = Local("x"), Local("o0")
RELU = Epilogue(Apply("max", (X, Number(0.0))))
SIGMOID = Epilogue(Apply("mul", (X, Apply("sigmoid", (X,)))))  # is not stored from registers
SAME = Window((3, 3), begin_pads=(1, 1), end_pads=(1, 1))


@dataclass
class Layers:
    """Two convolutions, x [N, H, W, K] -> [N, H, W, C] -> [N, Ho, Wo, C], with random weights and input."""

    shape: tuple[int, int, int, int]
    channels: int
    window: Window = SAME
    activation: Epilogue = RELU
    epilogue: Epilogue = RELU
    target: Target | None = None

    def __post_init__(self) -> None:
        rng = np.random.default_rng(sum(self.shape) + self.channels)
        depth, (n, height, width, inputs) = self.channels, self.shape
        x, matrix, depthwise, bias = (
            rng.normal(size=size).astype(np.float32)
            for size in (self.shape, (depth, inputs, 1, 1), (depth, 1, *self.window.kernel), depth)
        )
        self.x = x
        self.pointwise = pack_conv_weights(matrix, bias, Window(), self.target or host_target())
        self.weights, self.bias = pack_depthwise_weights(depthwise), bias[::-1].copy()
        self.out_shape = (n, *(self.out_length(i, size) for i, size in enumerate((height, width))), depth)

    def out_length(self, axis: int, length: int) -> int:
        window = self.window
        pads = sum(int(str(pad)) for pad in (window.begin_pads[axis], window.end_pads[axis]))
        extent = (window.kernel[axis] - 1) * window.dilations[axis] + 1
        return (length + pads - extent) // window.strides[axis] + 1

    def expected(self) -> Array:
        """The result of the two kernels."""
        images = np.empty((*self.shape[:3], self.channels), np.float32)
        y = np.empty(self.out_shape, np.float32)
        memory = [self.x, images, self.weights, self.bias, y]
        (tx, sx), (ti, si), (tw, sw), (tb, sb), (ty, sy) = map(guarded.tensor, memory)
        steps = [
            convolution_step(tx, self.pointwise, ti, self.activation),
            depthwise_step(ti, tw, ty, tb, self.window, self.epilogue),
        ]
        for step in steps:
            guarded.run(on_target(step, self.target), dict(zip((sx, si, sw, sb, sy), memory, strict=True)))
        return y

    def assert_equal_bits(self) -> None:
        """Runs the fused kernel on the input and compares its result."""
        y = np.full(self.out_shape, np.nan, np.float32)
        memory = [self.x, self.weights, self.bias, y]
        (tx, sx), (tw, sw), (tb, sb), (ty, sy) = map(guarded.tensor, memory)
        step = pointwise_depthwise_step(
            tx, self.pointwise, self.activation, tw, tb, ty, self.window, self.epilogue
        )
        guarded.run(on_target(step, self.target), dict(zip((sx, sw, sb, sy), memory, strict=True)))
        np.testing.assert_array_equal(y.view(np.uint32), self.expected().view(np.uint32))


def on_target(step: Step, target: Target | None) -> Step:
    """The step with its kernel compiled for a target."""
    if target is None:
        return step
    kernel = step.kernel
    key = f"{kernel.key}@{target.lanes}"
    return replace(step, kernel=replace(kernel, key=key, source=lambda name, _: kernel.source(name, target)))


@pytest.mark.parametrize("size", [3, 5])
@pytest.mark.parametrize("stride", [1, 2])
def test_kernel_sizes_and_strides(size: int, stride: int) -> None:
    window = Window((size, size), (stride, stride), (1, 1), (size // 2,) * 2, (size // 2,) * 2)
    Layers((2, 13, 19, 11), 35, window).assert_equal_bits()


@pytest.mark.parametrize("height", [1, 2, 40])
def test_images_of_few_and_of_many_rows(height: int) -> None:
    Layers((3, height, 5, 4), 16).assert_equal_bits()


def test_wide_images_have_small_groups_of_rows() -> None:
    assert rows_per_group(SAME, symbol("w"), 64) == PointwiseDepthwiseTuning.group_rows
    assert rows_per_group(SAME, 80, 64) == PointwiseDepthwiseTuning.group_rows
    assert rows_per_group(SAME, 10000, 64) == 1
    Layers((1, 9, 4100, 2), 8).assert_equal_bits()


@pytest.mark.parametrize("activation", [Epilogue(), SIGMOID])
def test_activations_and_epilogues(activation: Epilogue) -> None:
    Layers((1, 9, 14, 6), 40, activation=activation, epilogue=SIGMOID).assert_equal_bits()


@pytest.mark.parametrize("shape", [(0, 4, 4, 8), (1, 0, 4, 8), (1, 4, 0, 8)])
def test_empty_images_are_accepted(shape: tuple[int, int, int, int]) -> None:
    Layers(shape, 16).assert_equal_bits()


def test_padding_is_zero_and_not_the_activation_of_the_bias() -> None:
    layers = Layers((1, 2, 3, 4), 16, epilogue=Epilogue())
    layers.x[:] = 0
    layers.weights[:] = 1
    np.asarray(layers.pointwise.bias.buffer.data)[:] = 1
    layers.bias[:] = 0
    y = layers.expected()
    np.testing.assert_array_equal(y[0, :, :, 0], [[4, 6, 4], [4, 6, 4]])
    layers.assert_equal_bits()


def test_dynamic_sizes_and_strided_pixels() -> None:
    """Input and output are channel slices of wider images; the epilogue has a matrix operand."""
    layers, stored = Layers((2, 6, 10, 5), 19), 24
    shape: tuple[Known, ...] = tuple(map(symbol, "nhw"))
    x, y = (np.full((2, 6, 10, stored), 7, np.float32) for _ in range(2))
    x[..., 2:7] = layers.x
    addend = np.linspace(-1, 1, y[..., 5:].size, dtype=np.float32).reshape(2, 6, 10, 19)

    def image(array: Array, channels: int, offset: int) -> tuple[TensorView, Buffer]:
        strides = row_major_strides((*shape, array.shape[3]))
        buffer = Buffer("arena", strides[0] * shape[0] * 4, "image")
        return TensorView(DataType.FLOAT, (*shape, channels), strides, buffer, offset), buffer

    (tx, sx), (ty, sy), (ta, sa) = image(x, 5, 2), image(y, 19, 5), image(addend, 19, 0)
    (tw, sw), (tb, sb) = guarded.tensor(layers.weights), guarded.tensor(layers.bias)
    epilogue = Epilogue(Apply("add", (X, O0)), ("matrix",))
    step = pointwise_depthwise_step(tx, layers.pointwise, RELU, tw, tb, ty, layers.window, epilogue, (ta,))
    memory = {sx: x, sy: y, sa: addend, sw: layers.weights, sb: layers.bias}
    guarded.run(step, memory, {"n": 2, "h": 6, "w": 10})
    layers.epilogue = Epilogue()
    np.testing.assert_array_equal(y[..., 5:], layers.expected() + addend)
    assert (y[..., :5] == 7).all(), "channels outside the slice must not be written"


# --- partition -------------------------------------------------------------------------------
WEIGHTS = "float[32,16,1,1] wp, float[32] wb, float[32,1,3,3] wd"
SIZES = "float[1,16,96,96] x"
IMAGE = "float[1,32,96,96]"


def kinds_of(body: str, x: str = SIZES, results: str = f"{IMAGE} y") -> list[str]:
    """The kinds of the regions of a model with pointwise weights wp and wb and depthwise weights wd."""
    return [region.kind for region in regions_of(f"g ({x}, {WEIGHTS}) => ({results}) {{ {body} }}")]


DEPTHWISE = "Conv <group = 32, pads = [1, 1, 1, 1]>"


def test_activation_and_epilogue_are_part_of_the_region() -> None:
    body = f"a = Conv (x, wp, wb)  b = Relu (a)  c = {DEPTHWISE} (b, wd)  d = Relu (c)  y = Add (d, c)"
    (region,) = regions_of(f"g ({SIZES}, {WEIGHTS}) => ({IMAGE} y) {{ {body} }}")
    assert region.kind == "PointwiseDepthwiseConv"
    assert len(region.nodes) == 5
    assert kinds_of(f"a = Conv (x, wp)  y = {DEPTHWISE} (a, wd)") == ["PointwiseDepthwiseConv"]


def test_an_image_that_is_read_elsewhere_is_written() -> None:
    body = f"a = Conv (x, wp)  y = {DEPTHWISE} (a, wd)  z = MaxPool <kernel_shape = [1, 1]> (a)"
    separate = ["Conv", "DepthwiseConv"]
    assert kinds_of(body, results=f"{IMAGE} y, {IMAGE} z")[:2] == separate
    assert kinds_of(f"a = Conv (x, wp)  y = {DEPTHWISE} (a, wd)", results=f"{IMAGE} a, {IMAGE} y") == separate


def test_images_that_fit_the_cache_are_written() -> None:
    body = f"a = Conv (x, wp)  y = {DEPTHWISE} (a, wd)"
    separate = ["Conv", "DepthwiseConv"]
    assert kinds_of(body, "float[1,16,32,32] x", "float[1,32,32,32] y") == separate
    assert kinds_of(body, "float[1,16,8,8000] x", "float[1,32,8,8000] y") == separate
    fused = kinds_of(body, "float[1,16,H,W] x", "float[1,32,H,W] y")
    assert fused == ["PointwiseDepthwiseConv"], "dynamic images may be large"


def test_other_pairs_of_convolutions_are_separate() -> None:
    strided = f"a = Conv <strides = [1, 2]> (x, wp)  y = {DEPTHWISE} (a, wd)"
    assert kinds_of(strided, results="float[1,32,96,48] y") == ["Conv", "DepthwiseConv"]
    below = f"a = Conv (x, wp)  y = {DEPTHWISE.replace('[1, 1, 1, 1]', '[3, 1, 1, 1]')} (a, wd)"
    assert kinds_of(below, results="float[1,32,98,96] y") == ["Conv", "DepthwiseConv"]
