"""Products of a vector and a matrix that runs compute: no step packs the matrix, and results are those of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from compile.native_agreement import assert_engines_agree
from compile.stages import stages_of
from compile.test_few_rows import draw
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.ir import Array

PRODUCTS = {
    "vector by matrix": ("float[96] a, float[96, 70] b", "y = MatMul(a, b)", (96,), (96, 70)),
    "row by symbolic matrix": ("float[1, K] a, float[K, N] b", "y = MatMul(a, b)", (1, 96), (96, 70)),
    "row by transposed matrix": (
        "float[1, 96] a, float[70, 96] b", "y = Gemm <transB = 1> (a, b)", (1, 96), (70, 96),
    ),
    "matrix by vector": ("float[M, 96] a, float[96] b", "y = MatMul(a, b)", (70, 96), (96,)),
    "transposed matrix by column": (
        "float[96, 70] a, float[96, 1] b", "y = Gemm <transA = 1> (a, b)", (96, 70), (96, 1),
    ),
    "vector by vector": ("float[K] a, float[K] b", "y = MatMul(a, b)", (9000,), (9000,)),
    "rows by matrices": ("float[B, 1, 9] a, float[B, 9, 70] b", "y = MatMul(a, b)", (3, 1, 9), (3, 9, 70)),
}  # fmt: skip


@pytest.mark.parametrize("name", PRODUCTS)
def test_no_matrix_is_packed(name: str) -> None:
    inputs, nodes, left, right = PRODUCTS[name]
    text = f"agraph ({inputs}) => (float[] y) {{ {nodes} }}"
    keys = [step.kernel.key for step in stages_of(text, host_target()).program.steps]
    assert [key for key in keys if key.startswith(("vector_matrix", "few_columns"))]
    assert not [key for key in keys if "pack" in key or "panels" in key]
    assert_engines_agree(text, {"a": draw(*left), "b": draw(*right, seed=2)})


@pytest.mark.parametrize("transposed", [0, 1])
def test_epilogues_of_rows(transposed: int) -> None:
    """A bias, a scalar and a row of the result's shape, in a product and in the exchanged one."""
    matrix = "[70, 96]" if transposed else "[96, 70]"
    text = (
        f"agraph (float[1, 96] a, float{matrix} b, float[70] c, float s, float[1, 70] r) => (float[1, 70] y) {{"
        f" h = Gemm <transB = {transposed}> (a, b, c) k = Mul(h, s) m = Relu(k) y = Add(m, r) }}"
    )
    assert len(stages_of(text, host_target()).program.steps) == 1
    feeds: dict[str, Array] = {
        "a": draw(1, 96),
        "b": draw(*((70, 96) if transposed else (96, 70)), seed=2),
        "c": draw(70, seed=3),
        "s": np.array(0.5, np.float32),
        "r": draw(1, 70, seed=4),
    }
    assert_engines_agree(text, feeds)


def test_constant_biases_are_added_by_the_epilogue() -> None:
    text = """
    agraph (float[1, 8] a, float[8, 3] b) => (float[1, 3] y) {
      c = Constant <value = float[3] {0.5, -3, 2}> ()
      y = Gemm <alpha = 2.0, beta = 0.5> (a, b, c)
    }
    """
    assert len(stages_of(text, host_target()).program.steps) == 1
    assert_engines_agree(text, {"a": draw(1, 8), "b": draw(8, 3, seed=2)})
