"""Convolutions and transposed convolutions whose weights and bias a run feeds or computes are native."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile import guarded
from models import parse_model
from sardonyx._src.compile.kernels.conv.computed_weights import (
    TapSequence,
    pack_taps,
    transposed_operand,
)
from sardonyx._src.compile.kernels.gemm.tile.register_tile import choose_tile
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program.operands.tensor import dense_temporary
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Model

# rows and columns of weights without groups, kernel, groups, attributes
CONVOLUTIONS = [
    (20, 12, "3,3", 1, "pads = [1, 1, 1, 1]"),
    (20, 12, "3,2", 1, "pads = [1, 0, 2, 1], strides = [2, 1]"),
    (70, 3, "7,7", 1, "pads = [3, 3, 3, 3], strides = [2, 2]"),
    (33, 40, "1,1", 1, "strides = [1, 1]"),
    (33, 40, "1,1", 1, "strides = [2, 3]"),
    (6, 6, "3,3", 6, "dilations = [2, 1]"),
    (32, 32, "3,3", 8, "pads = [1, 1, 1, 1]"),
    (12, 24, "5,3", 3, "pads = [2, 2, 2, 2], dilations = [2, 2]"),
    (7, 5, "4", 1, "pads = [2, 1], strides = [2]"),
]
IDS = [f"{kernel} in {group} groups, {attributes}" for *_, kernel, group, attributes in CONVOLUTIONS]


def draw(seed: int, *shape: int) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def convolution(operator: str, dims: tuple[int, int], kernel: str, group: int, attributes: str) -> Model:
    """A model of one operator with weights and bias that are fed; `dims` are those of the weights."""
    channels, columns = (dims[1] * group, dims[0]) if operator == "Conv" else (dims[0], dims[1] * group)
    size, out = ("H", "P") if "," not in kernel else ("H,W", "P,Q")
    return parse_model(
        f"g (float[N,{channels},{size}] x, float[{dims[0]},{dims[1]},{kernel}] w, float[{columns}] b) => "
        f"(float[N,{columns},{out}] y) {{ c = {operator}<{attributes}, group = {group}>(x, w, b) y = Relu(c) }}"
    )


def assert_native(model: Model, kernel: str) -> None:
    native, reference = (sx.Session(model, engine=engine) for engine in ("native", "reference"))
    shapes = {
        value.name: [d if isinstance(d, int) else 2 for d in value.shape or ()] for value in native.inputs
    }
    for size in (5, 17):
        shapes["x"][2:] = [size, size + 3][: len(kernel.split(","))]
        feeds = {name: draw(i, *shape) for i, (name, shape) in enumerate(shapes.items())}
        actual, expected = native.run(feeds)["y"], reference.run(feeds)["y"]
        np.testing.assert_allclose(actual, expected, 1e-4, 1e-4)  # sums of 441 terms
    assert native.stats.fallback_nodes == 0 and not native.stats.bailouts


@pytest.mark.parametrize(("rows", "channels", "kernel", "group", "attributes"), CONVOLUTIONS, ids=IDS)
def test_conv(rows: int, channels: int, kernel: str, group: int, attributes: str) -> None:
    assert_native(convolution("Conv", (rows, channels // group), kernel, group, attributes), kernel)


@pytest.mark.parametrize(("rows", "channels", "kernel", "group", "attributes"), CONVOLUTIONS, ids=IDS)
def test_conv_transpose(rows: int, channels: int, kernel: str, group: int, attributes: str) -> None:
    assert_native(convolution("ConvTranspose", (channels, rows // group), kernel, group, attributes), kernel)


def test_bias_is_computed_and_weights_are_constant() -> None:
    for operator in ("Conv", "ConvTranspose"):
        model = parse_model(
            "g (float[N,1,H,W] x, float[1] b) => (float[N,1,P,Q] y) <float[1,1,2,2] w = {1, 2, 3, 4}> "
            f"{{ d = Add(b, b) y = {operator}(x, w, d) }}"
        )
        assert_native(model, "2,2")


def test_a_padding_of_zeros_hides_no_infinite_weight() -> None:
    """Kernels of transposed convolutions multiply weights by zeros around the image, where the definition has no product."""
    model = convolution("ConvTranspose", (4, 3), "3,3", 1, "pads = [1, 1, 1, 1]")
    session = sx.Session(model, engine="native")
    feeds = {"x": draw(1, 1, 4, 5, 5), "w": draw(2, 4, 3, 3, 3), "b": draw(3, 3)}
    session.run(feeds)
    assert not session.stats.bailouts
    feeds["w"][0, 0, 0, 0] = np.inf
    expected = sx.Session(model, engine="reference").run(feeds)["y"]
    np.testing.assert_allclose(session.run(feeds)["y"], expected, 1e-4)
    assert sum(session.stats.bailouts.values()) == 1


def pack_transposed(weights: Array) -> tuple[Array, int]:
    """Panels [panels, taps, channels, width] of weights [channels, columns, 3, 2], taps in reverse order, and the status."""
    tensor, buffer = guarded.tensor(weights)
    operand, status = transposed_operand(tensor, 1), dense_temporary(DataType.INT64, (16,), "status")
    taps, tile = (TapSequence(2, -1, 3), TapSequence(1, -1, 2)), choose_tile(weights.shape[1], host_target())
    packed, steps = pack_taps(operand, taps, tile, host_target(), status)
    panels = np.zeros([dim for dim in packed.shape if isinstance(dim, int)], np.float32)
    block = np.zeros(16, np.int64)
    guarded.run(steps, {buffer: weights, packed.buffer: panels, status.buffer: block})
    return panels[0], int(np.count_nonzero(block))


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_every_weight_that_is_not_finite_is_recorded(value: float) -> None:
    for index in range(2 * 19 * 6):
        weights = draw(1, 2, 19, 3, 2)
        weights.reshape(-1)[index] = value
        assert pack_transposed(weights)[1] == 1
