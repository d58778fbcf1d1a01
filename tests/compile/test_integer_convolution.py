"""Convolutions of bytes: exact sums, whatever the window, and the zero point all around."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from compile import guarded
from compile.test_integer_matmul import draw, of_target, targets
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.products.integer_convolution import integer_convolution, integer_weights
from sardonyx._src.compile.products.integer_tail import IntegerTail
from sardonyx._src.compile.products.packing import constant
from sardonyx._src.compile.products.weights import Window
from sardonyx._src.compile.products.words import in_words, padded
from sardonyx._src.compile.spatial.integer_depthwise import integer_depthwise, packed_bytes
from sardonyx._src.compile.spatial.window import Window as Spatial
from sardonyx._src.compile.step import Step
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array

Pair = tuple[int, int]


@dataclass(frozen=True)
class Case:
    """image: N, H, W; channels: of x and of the result; pads: top, left, bottom, right."""

    image: tuple[int, int, int]
    channels: Pair
    kernel: Pair = (1, 1)
    strides: Pair = (1, 1)
    dilations: Pair = (1, 1)
    pads: tuple[int, int, int, int] = (0, 0, 0, 0)
    groups: int = 1

    @property
    def size(self) -> Pair:
        """Height and width of the result."""
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
]
DEEP = [
    Case((2, 5, 6), (7, 7), (3, 3), pads=(1, 1, 1, 1)),
    Case((1, 9, 17), (40, 40), (3, 3), (2, 2), pads=(0, 1, 1, 0)),
    Case((1, 6, 9), (16, 16), (2, 7), (1, 3), (2, 1), (1, 3, 1, 3)),
]


def expected(x: Array, w: Array, zero: int, case: Case, groups: int) -> Array:
    """Sums [N, Ho, Wo, Co] int64 of x [N, H, W, C], less its zero point, times w [Co, C / groups, h, w]."""
    top, left, bottom, right = case.pads
    wide = np.pad(x.astype(np.int64) - zero, ((0, 0), (top, bottom), (left, right), (0, 0)))
    height, width = case.size
    result = np.zeros((len(x), height, width, len(w)), np.int64)
    each, share = len(w) // groups, w.shape[1]
    for group in range(groups):
        part = wide[..., group * share : (group + 1) * share]
        for ky, kx in np.ndindex(*case.kernel):
            y, z = ky * case.dilations[0], kx * case.dilations[1]
            rows = slice(y, y + (height - 1) * case.strides[0] + 1, case.strides[0])
            columns = slice(z, z + (width - 1) * case.strides[1] + 1, case.strides[1])
            chosen = w[group * each : (group + 1) * each, :, ky, kx].astype(np.int64)
            result[..., group * each : (group + 1) * each] += part[:, rows, columns] @ chosen.T
    return result


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("dtype", ["u1", "i1"])
def test_sums_are_exact_on_every_target(case: Case, dtype: str) -> None:
    x = draw(*case.image, case.channels[0], dtype=dtype)
    w = draw(case.channels[1], case.channels[0] // case.groups, *case.kernel, dtype="i1", seed=1)
    zero = 131 if dtype == "u1" else -7
    want = expected(x, w, zero, case, case.groups)
    for target in targets()[::3]:
        found = convolved(x, w, zero, case, target)
        np.testing.assert_array_equal(found, want, f"{target.lanes} lanes")


def convolved(x: Array, w: Array, zero: int, case: Case, target: Target) -> Array:
    flips = x.dtype == np.int8
    start = -(zero + (128 if flips else 0)) * w.sum((1, 2, 3), dtype=np.int64)
    window = Window(case.kernel, case.strides, case.dilations, case.pads[:2])
    weights = integer_weights(w, start.astype(np.int32), window, target, case.groups)
    tensor = padded(DataType.of(x.dtype), x.shape, "x")
    memory = np.full((*x.shape[:-1], -(-x.shape[-1] // 4) * 4), 99, x.dtype)
    memory[..., : x.shape[-1]] = x
    words = in_words(tensor)
    assert words is not None
    made = np.zeros((len(x), *case.size, len(w)), np.int32)
    y, storage = guarded.tensor(made)
    point = constant(np.array(zero, x.dtype))
    step = integer_convolution(words, point, weights, y, IntegerTail(), flips=flips)
    run(step, target, {words.storage: memory, storage: made})
    return made


def run(step: Step, target: Target, memory: dict[object, Array]) -> None:
    guarded.run(of_target(step, target), memory)  # type: ignore[arg-type]


@pytest.mark.parametrize("case", DEEP, ids=str)
@pytest.mark.parametrize("dtype", ["u1", "i1"])
@pytest.mark.parametrize("lanes", [16, 8, 4, 1])
@pytest.mark.parametrize("zero", [0, 131])
def test_every_channel_may_have_a_kernel_of_its_own(case: Case, dtype: str, lanes: int, zero: int) -> None:
    x = draw(*case.image, case.channels[0], dtype=dtype)
    w = draw(case.channels[0], 1, *case.kernel, dtype="i1", seed=1)
    zero = zero if dtype == "u1" else -zero // 2
    start = np.arange(len(w), dtype=np.int32)
    source, storage = guarded.tensor(x)
    made = np.zeros((len(x), *case.size, len(w)), np.int32)
    y, result = guarded.tensor(made)
    window = Spatial(case.kernel, case.strides, case.dilations, case.pads)
    target = next(one for one in targets() if one.lanes == lanes)
    constants = constant(packed_bytes(w, target)), constant(start)
    point = constant(np.array(zero, x.dtype)) if zero else None
    step = integer_depthwise(source, point, *constants, y, window, IntegerTail())
    run(step, target, {storage: x, result: made})
    np.testing.assert_array_equal(made, expected(x, w, zero, case, len(w)) + start)
