"""Products of factors rounded to bfloat16: the bound of their error, in AMX tiles and on vectors.

Where the processor has no AMX, or the system refuses it, tiles are emulated.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from compile import guarded
from compile.amx_features import without_amx
from compile.emulated_amx import emulated_amx, with_emulated_amx
from compile.test_integer_matmul import compile_for
from sardonyx._src.compile.codegen.expressions import Apply, Local
from sardonyx._src.compile.kernels.conv.bf16_convolution import bf16_convolution_step, pack_bf16_weights
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.bf16.bf16_arithmetic import has_bf16_products
from sardonyx._src.compile.kernels.gemm.bf16.bf16_matmul import (
    bf16_matmul_steps,
    make_rounded_rows,
    round_rows_step,
    view_as_words,
)
from sardonyx._src.compile.kernels.gemm.bf16.bf16_panels import pack_bf16_constant
from sardonyx._src.compile.kernels.gemm.bf16.bf16_words import padded_words, shared_k_block
from sardonyx._src.compile.kernels.gemm.floats.matmul import matmul_steps
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant, pack_bias
from sardonyx._src.compile.kernels.gemm.packing.panels import pack_constant
from sardonyx._src.compile.kernels.gemm.tile.amx_tiles import has_amx_bf16
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program import Window
from sardonyx._src.ir import Array

HOST = host_target()
needs_bf16 = pytest.mark.skipif(
    not has_bf16_products(HOST), reason="the processor has no products of bfloat16"
)
TARGETS = [replace(HOST, features=without_amx(HOST.features))]
TARGETS += [HOST if has_amx_bf16(HOST) else with_emulated_amx(HOST)]
SIZES = [(1, 1, 1), (3, 5, 7), (17, 64, 33), (33, 200, 70), (5, 2050, 20), (2, 3, 16, 40)]
WINDOWS = [
    (64, 33, Window()),
    (7, 16, Window()),
    (32, 40, Window((3, 3), (1, 1), (1, 1), (1, 1))),
    (3, 33, Window((5, 5), (2, 2), (1, 1), (2, 2))),
    (5, 16, Window((3, 2), (1, 2), (1, 2), (1, 0))),
    (6, 16, Window((3, 3), (2, 2), (2, 1), (1, 1))),
]


@pytest.fixture(autouse=True)
def tiles() -> Iterator[None]:
    with nullcontext() if has_amx_bf16(HOST) else emulated_amx():
        yield


def round_to_bf16(array: Array) -> Array:
    """The elements rounded to bfloat16, as float64."""
    return array.astype(ml_dtypes.bfloat16).astype(np.float64)


def draw(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def assert_close_to_rounded(
    actual: Array, rounded: Array, exact: Array, magnitude: Array, terms: int
) -> None:
    """The sums are those of rounded factors, but for the rounding of sums to float32; and as close to the exact ones.

    magnitude: the sums of the magnitudes of the products.  Factors are rounded by at most 2**-8 of their magnitude.
    """
    rounding_of_sums = (terms + 2) * 2.0**-23 * magnitude
    assert (np.abs(actual - rounded) <= rounding_of_sums).all()
    assert (np.abs(actual - exact) <= (2 * 2.0**-8 + 2.0**-16) * magnitude + rounding_of_sums).all()


@needs_bf16
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_products_are_those_of_rounded_factors(size: tuple[int, ...]) -> None:
    *rows, k, n = size
    a, b, bias = draw(*rows, k), draw(k, n, seed=1), draw(n, seed=2)
    rounded = round_to_bf16(a) @ round_to_bf16(b) + bias
    exact = a.astype(np.float64) @ b.astype(np.float64) + bias
    magnitude = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64) + np.abs(bias)
    for target in TARGETS:
        panels = pack_bf16_constant(b, target)
        assert bool(panels.tile.amx_words) == has_amx_bf16(target)
        x, memory = guarded.tensor(a)
        words = make_rounded_rows(a.shape, "words")
        actual = np.zeros((*rows, n), np.float32)
        y, buffer = guarded.tensor(actual)
        added = make_constant(pack_bias(bias, panels.tile))
        steps = [round_rows_step(x, words), *bf16_matmul_steps(view_as_words(words), panels, y, bias=added)]
        packed = np.zeros((*rows, padded_words(k)), np.int32)
        guarded.run(
            [compile_for(step, target) for step in steps], {memory: a, buffer: actual, words.buffer: packed}
        )
        assert_close_to_rounded(actual, rounded, exact, magnitude, k)


@needs_bf16
@pytest.mark.parametrize("size", [(1, 512, 40), (33, 768, 70), (40, 1376, 33), (5, 11008, 20)], ids=str)
def test_products_of_words_have_the_bits_of_float32_products(size: tuple[int, int, int]) -> None:
    """Sums have the same blocks and the same order, in which products of bfloat16, which are exact, are added."""
    rows, k, n = size
    a, b = (round_to_bf16(draw(*shape, seed=k)).astype(np.float32) for shape in ((rows, k), (k, n)))
    target, block, results = TARGETS[0], shared_k_block(k), []
    for has_words in (True, False):
        (x, memory), result = guarded.tensor(a), np.zeros((rows, n), np.float32)
        y, buffer = guarded.tensor(result)
        words, packed = make_rounded_rows(a.shape, "words"), np.zeros((rows, padded_words(k)), np.int32)
        if has_words:
            panels = pack_bf16_constant(b, target)
            products = bf16_matmul_steps(view_as_words(words), panels, y, k_block=block)
        else:
            products = matmul_steps(x, pack_constant(b, target), y, k_block=block)
        steps = [compile_for(step, target) for step in (round_rows_step(x, words), *products)]
        guarded.run(steps, {memory: a, buffer: result, words.buffer: packed})
        results.append(result)
    assert results[0].tobytes() == results[1].tobytes()
    assert np.abs(results[0]).max() > 1


@pytest.mark.parametrize(("k", "block"), [(512, 512), (768, 512), (1376, 458), (11008, 440), (777, None)])
def test_blocks_of_words_are_those_of_float32(k: int, block: int | None) -> None:
    """1376 terms are 4 blocks of 344, and 688 words are 4 of 172; 777 terms are 2 blocks of 389, an odd number."""
    assert shared_k_block(k) == block


@needs_bf16
@pytest.mark.parametrize("case", WINDOWS, ids=str)
def test_convolutions_are_those_of_rounded_factors(case: tuple[int, int, Window]) -> None:
    channels, columns, window = case
    x, bias = draw(2, 7, 9, channels), draw(columns, seed=2)
    weights = draw(columns, channels, *window.kernel, seed=1)
    rounded = convolve(round_to_bf16(x), round_to_bf16(weights), window) + bias
    exact = convolve(x.astype(np.float64), weights.astype(np.float64), window) + bias
    magnitude = convolve(np.abs(x).astype(np.float64), np.abs(weights).astype(np.float64), window)
    epilogue = Epilogue(Apply("add", (Local("x"), Local("o0"))), ("matrix",))
    for target in TARGETS:
        packed = pack_bf16_weights(weights, bias, window, target)
        assert bool(packed.tile.amx_words) == has_amx_bf16(target)
        image, memory = guarded.tensor(x)
        added = draw(*exact.shape, seed=3)
        operand, operand_memory = guarded.tensor(added)
        actual = np.zeros(exact.shape, np.float32)
        y, buffer = guarded.tensor(actual)
        step = bf16_convolution_step(image, packed, y, epilogue, (operand,))
        guarded.run(compile_for(step, target), {memory: x, operand_memory: added, buffer: actual})
        total = magnitude + np.abs(bias) + np.abs(added)
        assert_close_to_rounded(actual, rounded + added, exact + added, total, weights[0].size)


def convolve(x: Array, weights: Array, window: Window) -> Array:
    """A convolution of x [N, H, W, C], with the padding of the window on all sides."""
    (height, width), (dy, dx), (sy, sx), pads = (
        window.kernel,
        window.dilations,
        window.strides,
        window.begin_pads,
    )
    top, left = (int(str(pad)) for pad in pads)
    padded = np.pad(x, ((0, 0), (top, top), (left, left), (0, 0)))
    out_height = (padded.shape[1] - (height - 1) * dy - 1) // sy + 1
    out_width = (padded.shape[2] - (width - 1) * dx - 1) // sx + 1
    result = np.zeros((len(x), out_height, out_width, len(weights)))
    for ky in range(height):
        for kx in range(width):
            lines = slice(ky * dy, ky * dy + (out_height - 1) * sy + 1, sy)
            pixels = slice(kx * dx, kx * dx + (out_width - 1) * sx + 1, sx)
            result += padded[:, lines, pixels] @ weights[:, :, ky, kx].T
    return result


@needs_bf16
def test_infinities_and_nan_stay_in_their_rows() -> None:
    a, b = np.ones((3, 40), np.float32), np.ones((40, 17), np.float32)
    a[0, 3], a[1, 39] = np.inf, np.nan
    for target in TARGETS:
        panels = pack_bf16_constant(b, target)
        x, memory = guarded.tensor(a)
        words, actual = make_rounded_rows(a.shape, "words"), np.zeros((3, 17), np.float32)
        y, buffer = guarded.tensor(actual)
        steps = [round_rows_step(x, words), *bf16_matmul_steps(view_as_words(words), panels, y)]
        packed = np.full((3, padded_words(40)), -1, np.int32)  # NaN
        guarded.run(
            [compile_for(step, target) for step in steps], {memory: a, buffer: actual, words.buffer: packed}
        )
        expected = np.broadcast_to(np.array([[np.inf], [np.nan], [40]], np.float32), (3, 17))
        np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(("terms", "words"), [(1, 1), (32, 16), (33, 18), (64, 32), (147, 75), (2050, 1040)])
def test_rows_are_padded_to_tiles_of_equal_length(terms: int, words: int) -> None:
    assert padded_words(terms) == words


@pytest.mark.parametrize("missing", ["+avx512bf16"])
def test_no_target_without_the_feature_has_products_of_bfloat16(missing: str) -> None:
    target = replace(HOST, lanes=16, features="+avx512f,+avx512bf16")
    assert has_bf16_products(target)
    assert not has_bf16_products(replace(target, features=target.features.replace(missing, "-avx512bf16")))
    assert not has_bf16_products(replace(target, lanes=8))
