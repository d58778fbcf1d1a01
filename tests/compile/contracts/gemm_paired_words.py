"""Contracts of products and convolutions with panels of paired words, which processors without dot products of bytes use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from compile.contracts.contract import Axes, Contract, vector_edges
from compile.contracts.conv import PIXELS, WINDOWS, image_of
from compile.contracts.gemm import ROWS
from compile.contracts.gemm_integers import padded_words
from compile.contracts.references import convolve
from compile.contracts.trial import Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.conv.integer_convolution import (
    integer_convolution_step,
    pack_integer_weights,
)
from sardonyx._src.compile.kernels.gemm.integer.integer_matmul import integer_matmul_steps
from sardonyx._src.compile.kernels.gemm.integer.packed_int8 import pack_int8_constant, pack_int32_bias
from sardonyx._src.compile.kernels.gemm.integer.paired_panels import MIN_WORDS, can_pair_words
from sardonyx._src.compile.kernels.gemm.packing.packing import make_constant
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import IntegerEpilogue
from sardonyx._src.compile.program import Step, Window
from sardonyx._src.ir import Array

# Values of which pairs of weights are drawn: small ones, pairs at the bound of 128, just beyond it, and far beyond it.
KINDS = {
    "small": (-32, -1, 0, 1, 32),
    "at the bound": (-64, 64),
    "around the bound": (-64, 0, 64, 127, 1, -127, -1),
    "beyond the bound": (-65, -64, 64, 65, 127, 2),
    "extreme": (-127, 127),
}
KIND_NAMES = (*KINDS, "normal", "with -128")


def draw_weights(trial: Trial, kind: str, *shape: int) -> Array:
    if kind in KINDS:
        return trial.rng.choice(KINDS[kind], shape).astype(np.int8)
    weights = np.clip(np.rint(trial.rng.normal(0, 36, shape)), -127, 127).astype(np.int8)
    if kind == "with -128":
        weights[::2][trial.rng.random(weights[::2].shape) < 1 / 8] = -128  # in no pair of terms are both -128
    return weights


def draw_bytes(trial: Trial, dtype: str, *shape: int) -> Array:
    """Bytes of all values, half of them the least and the greatest."""
    info = np.iinfo(dtype)
    drawn = trial.integers(*shape, low=info.min, high=info.max, dtype=dtype)
    extreme = trial.rng.choice([info.min, info.max], shape)
    return np.where(trial.rng.random(shape) < 1 / 2, drawn, extreme).astype(dtype)


def paired_product(
    trial: Trial, rows: int, columns: int, k: int, dtype: str, kind: str, has_bias: bool
) -> Sequence[Step]:
    a, b = draw_bytes(trial, dtype, rows, k), draw_weights(trial, kind, k, columns)
    panels, bias = pack_int8_constant(b, trial.target, rows=100), trial.integers(columns, dtype=np.int32)
    assert panels.tile.has_pairs, "the words must be paired"
    added = make_constant(pack_int32_bias(bias, panels.tile)) if has_bias else None
    is_signed = dtype == "int8"
    exact = (a.astype(np.int64) + 128 * is_signed) @ b.astype(np.int64)
    y = trial.result(exact + bias * has_bias, np.int32, gap=2)
    words = padded_words(trial, a)
    return integer_matmul_steps(words, panels, y, added, IntegerEpilogue(), a_is_signed=is_signed)


def product_axes(target: Target) -> Axes:
    least = 4 * MIN_WORDS
    return {
        "rows": ROWS,
        "columns": vector_edges(target),
        "k": (*range(least - 3, least + 9), 63, 64, 65, 513, 2100),
        "dtype": ("uint8", "int8"),
        "kind": KIND_NAMES,
        "has_bias": (False, True),
    }


def paired_convolution(
    trial: Trial, pixels: int, columns: int, channels: int, window: Window, dtype: str, kind: str, groups: int
) -> Sequence[Step] | None:
    """Padding is the zero point."""
    if groups > 1 and channels % 4:
        return None
    is_signed, zero = dtype == "int8", -7 if dtype == "int8" else 131
    _, size = image_of(trial, window, pixels, 1)
    x = draw_bytes(trial, dtype, 2, 2, pixels, channels * groups)
    terms = draw_weights(trial, kind, channels, columns * groups, *window.kernel)
    weights = np.ascontiguousarray(np.moveaxis(terms, 0, 1))
    start = -(zero + 128 * is_signed) * weights.sum((1, 2, 3), dtype=np.int64)
    packed = pack_integer_weights(weights, start.astype(np.int32), window, trial.target, groups)
    words = packed.panels.shape[-2]
    if isinstance(words, int) and words < MIN_WORDS:
        return None
    assert packed.tile.has_pairs, "the words must be paired"
    y = trial.result(convolve(x.astype(np.int64) - zero, weights, window, size, groups), np.int32)
    point = make_constant(np.array(zero, dtype))
    image = padded_words(trial, x)
    return [integer_convolution_step(image, point, packed, y, IntegerEpilogue(), a_is_signed=is_signed)]


def convolution_axes(target: Target) -> Axes:
    return {
        "pixels": PIXELS,
        "columns": vector_edges(target),
        "channels": (7, 8, 24, 33, 64, 600),
        "window": WINDOWS,
        "dtype": ("uint8", "int8"),
        "kind": KIND_NAMES,
        "groups": (1, 2),
    }


def pairs_words(target: Target) -> bool:
    return can_pair_words(MIN_WORDS, target)


CONTRACTS = [
    Contract(paired_product, product_axes, pairs_words),
    Contract(paired_convolution, convolution_axes, pairs_words),
]
