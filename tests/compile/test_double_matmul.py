"""Products of float64: of rows and small constant matrices, and of any matrices."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile.native_agreement import assert_engines_agree, open_dims
from models import parse_model
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.ir import Array, Model, Tensor


def product_model(node: str, matrix: Array, bias: Array | None = None) -> Model:
    """A model of one product of x [N, K]."""
    bias_type = "" if bias is None else f", double[{len(bias)}] c"
    text = f"g (double[N,{node_terms(node, matrix)}] x, double[{matrix.shape[0]},{matrix.shape[1]}] w{bias_type}) => (double[N,M] y) {{ {node} }}"
    model = parse_model(text)
    for name, array in (("w", matrix), ("c", bias)):
        if array is not None:
            value = next(v for v in model.graph.inputs if v.name == name)
            model.graph.remove_input(value)
            value.initializer = Tensor.of(array)
            model.graph.add_initializer(value)
    return model


def node_terms(node: str, matrix: Array) -> int:
    return int(matrix.shape[1 if "transB" in node else 0])


@pytest.mark.parametrize("columns", [1, 3, 4, 5, 8, 9, 17])
@pytest.mark.parametrize("threads", [1, 2])
def test_products_are_those_of_numpy(columns: int, threads: int) -> None:
    rng = np.random.default_rng(columns)
    matrix = rng.normal(size=(7, columns))
    session = sx.Session(product_model("y = MatMul(x, w)", matrix), engine="native", threads=threads)
    assert session.stats.fallback_nodes == 0
    for rows in (0, 1, 4, 63, 64, 65, 200):
        x = rng.normal(size=(rows, 7))
        y: Array = np.asarray(session.run({"x": x})["y"])
        expected: Array = x @ matrix
        np.testing.assert_allclose(y, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("bias", [[0.5], [0.5, -1.0]])
def test_a_bias_comes_first(bias: list[float]) -> None:
    matrix = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    model = product_model("y = Gemm<transB = 1>(x, w, c)", matrix, np.array(bias))
    session = sx.Session(model, engine="native", threads=1)
    assert session.stats.fallback_nodes == 0
    y = np.asarray(session.run({"x": np.array([[1.0, 1.0, 1.0]])})["y"])
    np.testing.assert_array_equal(y, [[6 + bias[0], 15 + bias[-1]]])


def test_nan_stays_in_its_row() -> None:
    session = sx.Session(product_model("y = MatMul(x, w)", np.ones((2, 2))), engine="native", threads=1)
    x = np.array([[1.0, 2.0], [np.nan, 1.0], [np.inf, 1.0], [3.0, 4.0], [5.0, 6.0]])
    y = np.asarray(session.run({"x": x})["y"])
    np.testing.assert_array_equal(y, [[3, 3], [np.nan] * 2, [np.inf] * 2, [7, 7], [11, 11]])


@pytest.mark.parametrize("columns", [1, 15, 16, 17, 300])
def test_large_constant_matrices(columns: int) -> None:
    matrix = np.random.default_rng(0).normal(size=(1000, columns))
    session = sx.Session(product_model("y = MatMul(x, w)", matrix), engine="native", threads=2)
    assert session.stats.fallback_nodes == 0
    x = np.random.default_rng(1).normal(size=(5, 1000))
    np.testing.assert_allclose(np.asarray(session.run({"x": x})["y"]), x @ matrix, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("dims", [("N,K", "K,M"), ("3,N,K", "K,M"), ("N,K", "B,K,M"), ("B,N,K", "B,K,M"),
                                  ("2,1,N,K", "3,K,M"), ("A,B,2,N,K", "A,B,2,K,M"), ("K", "K"), ("K", "K,M"), ("2,K", "K")])  # fmt: skip
@pytest.mark.parametrize("k", [0, 1, 5, 257, 600])
def test_products_of_computed_matrices(dims: tuple[str, str], k: int) -> None:
    sizes = {"N": 4, "K": k, "M": 17, "A": 3, "B": 2}
    text = f"g (double[{dims[0]}] a, double[{dims[1]}] b) => (double y) {{ y = MatMul(a, b) }}"
    rng = np.random.default_rng(2)
    a, b = (
        rng.normal(size=[sizes.get(d) or int(d) if d != "K" else k for d in each.split(",")]) for each in dims
    )
    dims_of_y = open_dims((a @ b).ndim)
    assert_engines_agree(text.replace("double y", f"double{dims_of_y} y"), {"a": a, "b": b})


@pytest.mark.parametrize("c", ["", "[M]", "[1]", "[N,1]", "[1,M]", "[N,M]"])
@pytest.mark.parametrize("attributes", ["", "<transA = 1>", "<transB = 1, alpha = 0.3>", "<beta = 0.7, transA = 1, transB = 1>"])  # fmt: skip
def test_gemm_with_any_addend(c: str, attributes: str) -> None:
    a, b = ("K,N" if "transA" in attributes else "N,K"), ("M,K" if "transB" in attributes else "K,M")
    addend, operand = (f", double{c} c", ", c") if c else ("", "")
    text = f"g (double[{a}] a, double[{b}] b{addend}) => (double[N,M] y) {{ y = Gemm {attributes} (a, b{operand}) }}"
    for n, m in ((3, 5), (1, 16), (65, 33), (0, 2), (2, 0)):
        sizes, rng = {"N": n, "M": m, "K": 6, "1": 1}, np.random.default_rng(3)
        shapes = {"a": a, "b": b, **({"c": c[1:-1]} if c else {})}
        feeds = {name: rng.normal(size=[sizes[d] for d in dims.split(",")]) for name, dims in shapes.items()}
        assert_engines_agree(text, feeds)


def test_special_numbers_spread_as_in_numpy() -> None:
    text = "g (double[N,K] a, double[K,M] b) => (double[N,M] y) { y = MatMul(a, b) }"
    a = np.array([[1, np.inf], [np.nan, 1], [-0.0, 0], [1e300, 1e300]])
    assert_engines_agree(text, {"a": a, "b": np.array([[1.0, -1, 0, 1e10], [2, 3, -0.0, 1]])})


def test_every_stage_is_valid() -> None:
    compile_model(product_model("y = MatMul(x, w)", np.ones((3, 2))), host_target(), verify=True)
