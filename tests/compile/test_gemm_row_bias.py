"""Gemm with a C of one element for each row, which the kernel adds in its epilogue, against NumPy in double precision."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import sardonyx as sx
from compile.test_matmul_kernel import draw
from models import parse_model
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.ir import Array, Model, Tensor

ROWS = [1, 5, 40, 300]


def gemm_model(a: str, b: str, attributes: str = "", weights: Array | None = None) -> Model:
    inputs = f"float[{a}] a, float[{b}] b, float[M,1] c"
    model = parse_model(f"g ({inputs}) => (float[M,N] y) {{ y = Gemm {attributes} (a, b, c) }}", opset=21)
    if weights is not None:
        value = model.graph.inputs[1]
        model.graph.remove_input(value)
        value.initializer = Tensor.of(weights)
        model.graph.add_initializer(value)
    return model


def run(model: Model, feeds: dict[str, Array]) -> Array:
    session = sx.Session(model, engine="native")
    assert session.stats.fallback_nodes == 0
    return np.asarray(session.run(feeds)["y"])


def assert_sums(y: Array, expected: Array) -> None:
    np.testing.assert_allclose(y, expected, 1e-5, 1e-4)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("is_constant", [False, True])
def test_each_row_has_an_element(rows: int, is_constant: bool) -> None:
    a, b, c = draw(rows, 33), draw(33, 70, seed=2), draw(rows, 1, seed=3)
    model = gemm_model("M,33", "33,70", weights=b if is_constant else None)
    feeds = {"a": a, "c": c} if is_constant else {"a": a, "b": b, "c": c}
    assert_sums(run(model, feeds), a.astype(np.float64) @ b + c)


@pytest.mark.parametrize("rows", ROWS)
def test_operands_are_transposed_and_scaled(rows: int) -> None:
    a, b, c = draw(33, rows), draw(70, 33, seed=2), draw(rows, 1, seed=3)
    model = gemm_model("33,M", "70,33", "<transA = 1, transB = 1, alpha = 0.5, beta = 2.0>")
    expected = 0.5 * (a.T.astype(np.float64) @ b.T) + 2.0 * c
    assert_sums(run(model, {"a": a, "b": b, "c": c}), expected)


def test_known_sizes_and_targets_of_other_lanes() -> None:
    model = parse_model(
        "g (float[9,20] a, float[20,128] b, float[9,1] c) => (float[9,128] y) { y = Gemm(a, b, c) }", opset=21
    )
    for lanes in (1, 4, 8):
        target = replace(host_target(), lanes=lanes, registers=16)
        keys = [step.kernel.key for step in compile_model(model, target, verify=True).program.steps]
        assert len(keys) == 1, "few rows by a computed matrix are one step"
    a, b, c = draw(9, 20), draw(20, 128, seed=2), draw(9, 1, seed=3)
    assert_sums(run(model, {"a": a, "b": b, "c": c}), a.astype(np.float64) @ b + c)


def test_a_row_of_bias_is_told_from_a_column() -> None:
    """With as many rows as columns, C [M, 1] is still one element for each row."""
    a, b, c = draw(64, 20), draw(20, 64, seed=2), draw(64, 1, seed=3)
    assert_sums(run(gemm_model("M,20", "20,64"), {"a": a, "b": b, "c": c}), a.astype(np.float64) @ b + c)
