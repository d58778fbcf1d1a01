"""Products of few rows whose right operand is read in place, and products with a transposed left operand, against NumPy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from compile import guarded
from compile.native_agreement import assert_engines_agree
from compile.stages import stages_of
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.gemm.unpacked.few_rows import reads_in_place
from sardonyx._src.compile.kernels.gemm.unpacked.transposed_left import (
    with_dense_rows,
)
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.program import Buffer, TensorView
from sardonyx._src.compile.program.operands.tensor import transpose_matrix
from sardonyx._src.ir import Array


def draw(*shape: int, seed: int = 1) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def target_of(lanes: int) -> Target:
    return replace(host_target(), lanes=lanes)


def tensors_of(*arrays: Array) -> tuple[list[TensorView], dict[Buffer, Array]]:
    pairs = [guarded.tensor(array) for array in arrays]
    return [tensor for tensor, _ in pairs], {
        buffer: array for (_, buffer), array in zip(pairs, arrays, strict=True)
    }


@pytest.mark.parametrize(
    ("shapes", "reason"),
    [
        (((17, 9), (9, 128)), "too many rows"),
        (((8, 9), (9, 100)), "columns that no tile divides"),
        (((8, 9), (9, 16)), "too few columns"),
        (((2, 8, 9), (9, 128)), "a batch"),
    ],
)
def test_other_products_are_packed(shapes: tuple[tuple[int, ...], tuple[int, ...]], reason: str) -> None:
    (a, b), _ = tensors_of(*(draw(*shape) for shape in shapes))
    assert not reads_in_place(a, b, replace(host_target(), lanes=16, registers=32)), reason


@pytest.mark.parametrize(
    ("rows", "columns", "lanes", "in_place"),
    [
        (8, 1024, 8, False),  # tiles of 6 rows of 16 columns: the second one finds no line of the first
        (5, 1024, 8, True),
        (8, 1008, 8, True),
        (32, 768, 8, True),
        (33, 768, 8, False),
        (8, 1024, 16, True),
        (17, 768, 16, False),
    ],
)
def test_narrow_tiles_of_rows_whole_pages_apart_are_packed(
    rows: int, columns: int, lanes: int, *, in_place: bool
) -> None:
    (a, b), _ = tensors_of(draw(rows, 9), draw(9, columns))
    target = replace(host_target(), lanes=lanes, registers=2 * lanes)
    assert reads_in_place(a, b, target) == in_place


def test_columns_that_are_far_apart_are_copied() -> None:
    x, target = draw(9, 1024), replace(host_target(), lanes=16, registers=32)
    (tensor,), _ = tensors_of(x)
    copy, steps = with_dense_rows(transpose_matrix(tensor), 256, "x", target)
    assert len(steps) == 1
    assert copy.strides == (9, 1)
    for near, columns in ((draw(9, 1000), 256), (x, 64)):
        (tensor,), _ = tensors_of(near)
        unchanged = with_dense_rows(transpose_matrix(tensor), columns, "x", target)
        assert unchanged == (transpose_matrix(tensor), [])


@pytest.mark.parametrize(("lanes", "registers", "copies"), [(16, 32, 0), (8, 16, 1), (4, 16, 1)])
def test_targets_of_narrow_panels_copy_for_fewer_columns(lanes: int, registers: int, copies: int) -> None:
    """64 columns are one panel of AVX-512, and at least three of AVX2 and SSE, of which each reads A."""
    tensor = transpose_matrix(tensors_of(draw(9, 1024))[0][0])
    target = replace(host_target(), lanes=lanes, registers=registers)
    assert len(with_dense_rows(tensor, 64, "x", target)[1]) == copies


def test_gradients_of_low_rank_weights_pack_no_activations() -> None:
    """x [512, 384] is the left operand of the first product, and dY the right one of the second."""
    text = """
    agraph (float[64, 384] x, float[64, 8] g, float[64, 384] dy) => (float[384, 8] da, float[8, 384] db) {
      da = Gemm <transA = 1> (x, g)
      db = Gemm <transA = 1> (g, dy)
    }
    """
    kernels = [step.kernel.key.split(":")[0] for step in stages_of(text, host_target()).program.steps]
    assert [key.rsplit("_", 1)[0] for key in kernels if "few_rows" in key] == ["few_rows_f32_3"] * 2
    assert not [key for key in kernels if "panels" in key or "matmul" in key]
    assert_engines_agree(text, {"x": draw(64, 384), "g": draw(64, 8), "dy": draw(64, 384, seed=4)})


def test_gradients_of_wide_weights_agree() -> None:
    text = """
    agraph (float[40, 1024] x, float[40, 256] dy) => (float[1024, 256] dw) {
      dw = Gemm <transA = 1> (x, dy)
    }
    """
    assert "copy_bands" in " ".join(s.kernel.key for s in stages_of(text, host_target()).program.steps)
    assert_engines_agree(text, {"x": draw(40, 1024), "dy": draw(40, 256, seed=4)})
