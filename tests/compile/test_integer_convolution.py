"""int8 convolutions: exact sums for any window, with the zero point as padding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from compile import guarded
from compile.test_integer_matmul import compile_for, draw, make_targets
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.kernels.channels_last.sliding_window import SlidingWindow as Spatial
from sardonyx._src.compile.kernels.conv.integer_convolution import (
    integer_convolution_step,
    pack_integer_weights,
)
from sardonyx._src.compile.kernels.conv.packed_weights import ConvWindow
from sardonyx._src.compile.kernels.depthwise.integer_depthwise import (
    integer_depthwise_step,
    pack_int8_depthwise_weights,
)
from sardonyx._src.compile.kernels.gemm.integer_epilogue import IntegerEpilogue
from sardonyx._src.compile.kernels.gemm.packed_int8 import make_padded_temporary, view_as_int8x4
from sardonyx._src.compile.kernels.gemm.packing import make_constant
from sardonyx._src.compile.program.step import Step
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array

Pair = tuple[int, int]


@dataclass(frozen=True)
class Case:
    """image: N, H, W; channels: of x and of the output; pads: top, left, bottom, right."""

    image: tuple[int, int, int]
    channels: Pair
    kernel: Pair = (1, 1)
    strides: Pair = (1, 1)
    dilations: Pair = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    groups: int = 1

    @property
    def size(self) -> Pair:
        """Height and width of the output."""
        _, h, w = self.image
        spans = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations, strict=True)]
        height = (h + self.pads[0] + self.pads[2] - spans[0]) // self.strides[0] + 1
        return height, (w + self.pads[1] + self.pads[3] - spans[1]) // self.strides[1] + 1


CASES = [
    Case((1, 1, 1), (1, 1)),
    Case((2, 5, 7), (16, 33)),
    Case((1, 9, 11), (7, 5)),
    Case((1, 6, 7), (3, 20), (3, 3), pads=(1, 1, 1, 1)),
    Case((2, 9, 8), (4, 70), (3, 2), (2, 1), (1, 2), (0, 2, 1, 0)),
    Case((1, 5, 5), (8, 12), (2, 2), groups=2, pads=(0, 1, 1, 0)),
    Case((1, 3, 3), (600, 18), (3, 3), pads=(1, 1, 1, 1)),
    Case((0, 4, 4), (4, 4)),
    Case((2, 19, 21), (3, 66), (7, 7), (2, 2), pads=(3, 3, 3, 3)),
    Case((1, 9, 5), (8, 17), (3, 5), (1, 2), (2, 1), (0, 4, 3, 1)),
]
DEPTHWISE_CASES = [
    Case((2, 5, 6), (7, 7), (3, 3), pads=(1, 1, 1, 1)),
    Case((1, 9, 17), (40, 40), (3, 3), (2, 2), pads=(0, 1, 1, 0)),
    Case((1, 6, 9), (16, 16), (2, 7), (1, 3), (2, 1), (1, 3, 1, 3)),
]


def reference_sums(x: Array, w: Array, zero: int, case: Case, groups: int) -> Array:
    """Sums [N, Ho, Wo, Co] int64 of x [N, H, W, C], minus its zero point, times w [Co, C / groups, h, w]."""
    top, left, bottom, right = case.pads
    padded = np.pad(x.astype(np.int64) - zero, ((0, 0), (top, bottom), (left, right), (0, 0)))
    height, width = case.size
    result = np.zeros((len(x), height, width, len(w)), np.int64)
    group_columns, share = len(w) // groups, w.shape[1]
    for group in range(groups):
        group_input = padded[..., group * share : (group + 1) * share]
        for ky, kx in np.ndindex(*case.kernel):
            y, z = ky * case.dilations[0], kx * case.dilations[1]
            rows = slice(y, y + (height - 1) * case.strides[0] + 1, case.strides[0])
            columns = slice(z, z + (width - 1) * case.strides[1] + 1, case.strides[1])
            tap_weights = w[group * group_columns : (group + 1) * group_columns, :, ky, kx].astype(np.int64)
            result[..., group * group_columns : (group + 1) * group_columns] += (
                group_input[:, rows, columns] @ tap_weights.T
            )
    return result


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("dtype", ["u1", "i1"])
def test_sums_are_exact_on_every_target(case: Case, dtype: str) -> None:
    x = draw(*case.image, case.channels[0], dtype=dtype)
    w = draw(case.channels[1], case.channels[0] // case.groups, *case.kernel, dtype="i1", seed=1)
    zero = 131 if dtype == "u1" else -7
    expected = reference_sums(x, w, zero, case, case.groups)
    for target in make_targets()[::3]:
        actual = run_convolution(x, w, zero, case, target)
        np.testing.assert_array_equal(actual, expected, f"{target.lanes} lanes")


def run_convolution(x: Array, w: Array, zero: int, case: Case, target: Target) -> Array:
    is_signed = x.dtype == np.int8
    start = -(zero + (128 if is_signed else 0)) * w.sum((1, 2, 3), dtype=np.int64)
    window = ConvWindow(case.kernel, case.strides, case.dilations, case.pads[:2])
    weights = pack_integer_weights(w, start.astype(np.int32), window, target, case.groups)
    tensor = make_padded_temporary(DataType.of(x.dtype), x.shape, "x")
    memory = np.full((*x.shape[:-1], -(-x.shape[-1] // 4) * 4), 99, x.dtype)
    memory[..., : x.shape[-1]] = x
    packed = view_as_int8x4(tensor)
    assert packed is not None
    actual = np.zeros((len(x), *case.size, len(w)), np.int32)
    y, buffer = guarded.tensor(actual)
    point = make_constant(np.array(zero, x.dtype))
    step = integer_convolution_step(packed, point, weights, y, IntegerEpilogue(), a_is_signed=is_signed)
    run(step, target, {packed.buffer: memory, buffer: actual})
    return actual


def run(step: Step, target: Target, memory: dict[object, Array]) -> None:
    guarded.run(compile_for(step, target), memory)  # type: ignore[arg-type]


@pytest.mark.parametrize("case", DEPTHWISE_CASES, ids=str)
@pytest.mark.parametrize("dtype", ["u1", "i1"])
@pytest.mark.parametrize("lanes", [16, 8, 4, 1])
@pytest.mark.parametrize("zero", [0, 131])
def test_depthwise_sums_are_exact(case: Case, dtype: str, lanes: int, zero: int) -> None:
    x = draw(*case.image, case.channels[0], dtype=dtype)
    w = draw(case.channels[0], 1, *case.kernel, dtype="i1", seed=1)
    zero = zero if dtype == "u1" else -zero // 2
    start = np.arange(len(w), dtype=np.int32)
    source, buffer = guarded.tensor(x)
    actual = np.zeros((len(x), *case.size, len(w)), np.int32)
    y, result = guarded.tensor(actual)
    window = Spatial(case.kernel, case.strides, case.dilations, case.pads)
    target = next(candidate for candidate in make_targets() if candidate.lanes == lanes)
    constants = make_constant(pack_int8_depthwise_weights(w, target)), make_constant(start)
    point = make_constant(np.array(zero, x.dtype)) if zero else None
    step = integer_depthwise_step(source, point, *constants, y, window, IntegerEpilogue())
    run(step, target, {buffer: x, result: actual})
    np.testing.assert_array_equal(actual, reference_sums(x, w, zero, case, len(w)) + start)
