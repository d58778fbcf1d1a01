"""Products of bytes on AArch64 with `sdot` alone: constants are multiplied by int8, which initial sums correct."""

from __future__ import annotations

import numpy as np
import pytest

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.conv.integer_convolution import pack_integer_weights
from sardonyx._src.compile.kernels.gemm.integer.int8_dot import multiplies_signed
from sardonyx._src.compile.kernels.gemm.integer.int8_packing import pack_int8_tensor
from sardonyx._src.compile.kernels.gemm.integer.integer_matmul import integer_matmul_steps, sign_correction
from sardonyx._src.compile.kernels.gemm.integer.packed_int8 import pack_int8_constant
from sardonyx._src.compile.kernels.gemm.packing.panels import Panels
from sardonyx._src.compile.kernels.gemm.tile.integer_epilogue import IntegerEpilogue
from sardonyx._src.compile.llvm.host_target import find_class
from sardonyx._src.compile.llvm.target_classes import target_of
from sardonyx._src.compile.program import Buffer, TensorView, Window, row_major_strides
from sardonyx._src.dtypes import DataType

WEIGHTS = np.random.default_rng(0).integers(-128, 128, (24, 12)).astype(np.int8)


def target_named(name: str) -> Target:
    chosen = find_class(name)
    return target_of(chosen, chosen.triple, "")


DOTPROD = target_named("aarch64-dotprod")


def tensor(dtype: DataType, *shape: int) -> TensorView:
    size = int(np.prod(shape)) * dtype.numpy.itemsize
    return TensorView(dtype, shape, row_major_strides(shape), Buffer("arena", size, "x"))


def product_text(panels: Panels, *, a_is_signed: bool) -> str:
    a, y = tensor(DataType.INT32, 9, 6), tensor(DataType.INT32, 9, 12)
    (step,) = integer_matmul_steps(a, panels, y, None, IntegerEpilogue(), a_is_signed=a_is_signed)
    return step.kernel.source("kernel", DOTPROD)


@pytest.mark.parametrize("name", ["aarch64", "aarch64-i8mm", "x86-64-v3", "x86-64-v4-vnni"])
def test_other_classes_read_unsigned_bytes(name: str) -> None:
    assert not multiplies_signed(target_named(name))
    tile = pack_int8_constant(WEIGHTS, target_named(name)).tile
    assert not tile.is_signed
    assert not sign_correction(WEIGHTS, tile, a_is_signed=True).any()


@pytest.mark.parametrize("a_is_signed", [False, True])
def test_initial_sums_of_constants_have_the_correction(a_is_signed: bool) -> None:
    tile = pack_int8_constant(WEIGHTS, DOTPROD).tile
    expected = 128 * WEIGHTS.sum(0, dtype=np.int32)
    np.testing.assert_array_equal(sign_correction(WEIGHTS, tile, a_is_signed=a_is_signed), expected)


@pytest.mark.parametrize("groups", [1, 3])
def test_initial_sums_of_convolutions_have_the_correction(groups: int) -> None:
    weights = np.random.default_rng(1).integers(-128, 128, (6, 8, 3, 3)).astype(np.int8)
    initial = np.arange(6, dtype=np.int32)
    packed = pack_integer_weights(weights, initial, Window((3, 3), (1, 1), (1, 1), (1, 1)), DOTPROD, groups)
    assert packed.tile.is_signed
    data = np.asarray(packed.bias.buffer.data).reshape(groups, -1)[:, : 6 // groups]
    expected = initial + 128 * weights.sum((1, 2, 3), dtype=np.int32)
    np.testing.assert_array_equal(data.reshape(-1), expected)


def test_kernels_correct_computed_matrices_only() -> None:
    constant = pack_int8_constant(WEIGHTS, DOTPROD)
    computed = pack_int8_tensor(tensor(DataType.INT8, 24, 12), DOTPROD).panels
    flip = "-2139062144"  # the sign bits of the four bytes of a word
    assert flip in product_text(constant, a_is_signed=False)
    assert flip not in product_text(constant, a_is_signed=True)
    ones = "16843009"
    assert ones in product_text(computed, a_is_signed=False)
    assert ones not in product_text(constant, a_is_signed=False)
