"""Consumers of a Gemm whose C is computed, or of a product and a column: one step with the bias, against NumPy in float64."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile.test_matmul_kernel import draw
from models import parse_model
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.ir import Array, Model, Tensor

ROWS, K, N = [1, 5, 40, 300], 33, 70
BIASES = {"N": (N,), "1,N": (1, N), "M,N": (-1, N), "M,1": (-1, 1), "1": (1,), "1,1": (1, 1)}


def bind_constants(model: Model, **constants: Array) -> Model:
    """The model with inputs as initializers."""
    for value in [value for value in model.graph.inputs if value.name in constants]:
        model.graph.remove_input(value)
        value.initializer = Tensor.of(constants[value.name])
        model.graph.add_initializer(value)
    return model


def assert_computes(model: Model, feeds: dict[str, Array], expected: Array, steps: int) -> None:
    """The native engine computes the values in this number of steps."""
    keys = [step.kernel.key for step in compile_model(model, host_target(), verify=True).program.steps]
    assert len(keys) == steps, keys
    session = sx.Session(model, engine="native")
    assert session.stats.fallback_nodes == 0
    np.testing.assert_allclose(session.run(feeds)["y"], expected, 1e-5, 1e-4)


def draw_bias(dims: str, rows: int) -> Array:
    return draw(*(rows if size < 0 else size for size in BIASES[dims]), seed=3)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("dims", BIASES)
def test_consumers_are_fused_after_a_computed_bias(dims: str, rows: int) -> None:
    text = f"""g (float[M,{K}] a, float[{K},{N}] b, float[{dims.replace("N", str(N))}] c, float[M,{N}] r, float[{N}] s) => (float[M,{N}] y)
        {{ p = Gemm <alpha = 0.5, beta = 2.0> (a, b, c)  q = Mul (p, s)  t = Relu (q)  u = Add (t, r)  y = Tanh (u) }}"""
    a, b, c, r, s = (
        draw(rows, K),
        draw(K, N, seed=2),
        draw_bias(dims, rows),
        draw(rows, N, seed=4),
        draw(N, seed=5),
    )
    model = bind_constants(parse_model(text, opset=21), b=b)
    product = 0.5 * (a.astype(np.float64) @ b) + 2.0 * c
    expected = np.tanh(np.maximum(product * s, 0) + r)
    assert_computes(model, {"a": a, "c": c, "r": r, "s": s}, expected, steps=1)


def test_an_addend_that_is_read_again_is_one_operand() -> None:
    text = f"""g (float[M,{K}] a, float[{K},{N}] b, float[M,{N}] c) => (float[M,{N}] y)
        {{ p = Gemm (a, b, c)  t = Sigmoid (p)  y = Mul (t, c) }}"""
    a, b, c = draw(9, K), draw(K, N, seed=2), draw(9, N, seed=3)
    model = bind_constants(parse_model(text, opset=21), b=b)
    (step,) = compile_model(model, host_target(), verify=True).program.steps
    assert step.kernel.parameters.names.count("o0") == 1
    assert "o1" not in step.kernel.parameters.names
    expected = c / (1 + np.exp(-(a.astype(np.float64) @ b + c)))
    assert_computes(model, {"a": a, "c": c}, expected, steps=1)


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
@pytest.mark.parametrize("rows", ROWS)
def test_a_column_is_added_to_a_product(batch: tuple[int, ...], rows: int) -> None:
    """As sums of squares are in distances between rows."""
    lead = "".join(f"{size}," for size in batch)
    text = f"""g (float[{lead}M,{K}] a, float[{K},{N}] b, float[{lead}M,1] c, float[{N}] s) => (float[{lead}M,{N}] y)
        {{ p = MatMul (a, b)  q = Add (p, c)  t = Add (q, s)  u = Relu (t)  y = Tanh (u) }}"""
    a, b = draw(*batch, rows, K), draw(K, N, seed=2)
    c, s = draw(*batch, rows, 1, seed=3), draw(N, seed=4)
    model = bind_constants(parse_model(text, opset=21), b=b)
    expected = np.tanh(np.maximum(a.astype(np.float64) @ b + c + s, 0))
    assert_computes(model, {"a": a, "c": c, "s": s}, expected, steps=1)


@pytest.mark.parametrize("dims", ["N", "1,N", "1", "M,N", "M,1"])
def test_a_constant_addend_of_a_scaled_product_of_computed_matrices(dims: str) -> None:
    rows = 40
    text = f"""g (float[{rows},{K}] a, float[{K},{N}] b, float[{dims.replace("N", str(N)).replace("M", str(rows))}] c) => (float[{rows},{N}] y)
        {{ p = Gemm <alpha = 0.25, beta = 3.0> (a, b, c)  y = Neg (p) }}"""
    a, b, c = draw(rows, K), draw(K, N, seed=2), draw_bias(dims, rows)
    model = bind_constants(parse_model(text, opset=21), c=c)
    expected = -(0.25 * (a.astype(np.float64) @ b) + 3.0 * c)
    assert_computes(model, {"a": a, "b": b}, expected, steps=2)


@pytest.mark.parametrize("columns", [1, N])
def test_the_rows_of_an_addend_are_guarded(columns: int) -> None:
    """As where at most 512 of them are taken."""
    text = f"""g (float[M,{K}] a, float[{K},{N}] b, float[M,{columns}] r, int64[1] s, int64[1] e) => (float[M,{N}] y)
        {{ c = Slice (r, s, e)  y = Gemm (a, b, c) }}"""
    a, b, r = draw(40, K), draw(K, N, seed=2), draw(40, columns, seed=3)
    model = bind_constants(parse_model(text, opset=21), b=b, s=np.array([0]), e=np.array([512]))
    assert_computes(model, {"a": a, "r": r}, a.astype(np.float64) @ b + r, steps=1)
