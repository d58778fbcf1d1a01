"""Products by computed matrices whose number of rows only a run knows: a single row reads the matrix in place."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sardonyx as sx
from compile.guarded_programs import run_guarded
from models import parse_model
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.compile.program import Step
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import evaluate

K, M = 40, 200
PRODUCTS = {
    "MatMul": ("float[N,40] x", "y = MatMul(x, w)"),
    "batch of sequences": ("float[B,N,40] x", "y = MatMul(x, w)"),
    "row vector": ("float[N,40] x", "p = MatMul(x, w)  y = Add(p, v)"),
    "residual": ("float[N,40] x, float[N,200] r", "p = MatMul(x, w)  s = Add(p, r)  y = Relu(s)"),
    "Gemm": ("float[N,40] x", "y = Gemm <alpha = 2.0, beta = 3.0> (x, w, v)"),
    "transposed": ("float[N,40] x", "t = Transpose <perm = [1, 0]> (w)  y = Gemm <transB = 1> (x, t, v)"),
    "transposed input": ("float[N,40] x", "t = Transpose <perm = [1, 0]> (x)  y = Gemm <transA = 1> (t, w)"),
}


def text_of(product: str, rows: str = "N") -> str:
    inputs, body = PRODUCTS[product]
    inputs = inputs.replace("N,", f"{rows},")
    return f"g ({inputs}, float[40,200] w, float[200] v) => (float[] y) {{ {body} }}"


def integers(*shape: int, seed: int = 0) -> Array:
    """Small integers, so that sums are exact."""
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(np.float32)


def feeds_of(product: str, rows: int, batch: int = 1) -> dict[str, Array]:
    feeds = {"x": integers(rows, K), "w": integers(K, M, seed=1), "v": integers(M, seed=2)}
    if product == "residual":
        feeds["r"] = integers(rows, M, seed=3)
    if product == "batch of sequences":
        feeds["x"] = integers(batch, rows, K)
    return feeds


def expected_of(product: str, feeds: dict[str, Array]) -> Array:
    y: Array = feeds["x"] @ feeds["w"]
    match product:
        case "row vector" | "transposed":
            return np.asarray(y + feeds["v"])
        case "residual":
            return np.asarray(np.maximum(y + feeds["r"], np.float32(0)))
        case "Gemm":
            return np.asarray(2 * y + 3 * feeds["v"])
    return y


@pytest.mark.parametrize("product", PRODUCTS)
def test_results_are_exact_for_every_number_of_rows(product: str) -> None:
    session = sx.Session(parse_model(text_of(product), opset=25), engine="native")
    assert session.stats.fallback_nodes == 0
    for rows, batch in [(1, 1), (2, 1), (1, 2), (0, 1), (1, 1), (1, 0), (7, 1), (1, 1)]:
        feeds = feeds_of(product, rows, batch)
        np.testing.assert_array_equal(session.run(feeds)["y"], expected_of(product, feeds))
    assert not session.stats.bailouts


@pytest.mark.parametrize("product", PRODUCTS)
def test_memory_is_accessed_as_declared(product: str) -> None:
    executable = compile_model(parse_model(text_of(product), opset=25), host_target(), verify=True)
    for rows, at_end in itertools.product((0, 1, 3), (False, True)):
        feeds = feeds_of(product, rows)
        results = run_guarded(executable, feeds, at_end=at_end, seed=rows, checks=True)
        assert results is not None
        np.testing.assert_array_equal(next(iter(results.values())), expected_of(product, feeds))


@pytest.mark.parametrize("product", ["MatMul", "residual", "transposed", "batch of sequences"])
def test_a_single_row_packs_nothing(product: str) -> None:
    program = compile_model(parse_model(text_of(product), opset=25), host_target(), verify=True).program
    working = {}
    for rows in (0, 1, 2):
        sizes = dict.fromkeys(program.sizes, rows) | ({"B": 1} if "B" in program.sizes else {})
        steps = [step for step in program.actions if isinstance(step, Step) and evaluate(step.units, sizes)]
        working[rows] = [step.kernel.key.split(":")[0] for step in steps]
    assert all(key.startswith("panels") for key in working[0])
    assert len(working[1]) == 1 and len(working[2]) > 1
    assert not set(working[1]) & set(working[2])


def test_a_row_has_the_bits_of_the_product_with_one_row() -> None:
    rng = np.random.default_rng(5)
    x, w = rng.standard_normal((1, 700), np.float32), rng.standard_normal((700, M), np.float32)
    texts = (
        f"g (float[{n},700] x, float[700,200] w) => (float[] y) {{ y = MatMul(x, w) }}" for n in ("N", "1")
    )
    results = [sx.Session(parse_model(text), engine="native").run({"x": x, "w": w})["y"] for text in texts]
    assert np.asarray(results[0]).tobytes() == np.asarray(results[1]).tobytes()
