"""Products of float64 rows and small constant matrices."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.ir.model import Model
from sardonyx._src.ir.tensors import Array, Tensor


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


def test_large_matrices_are_left_to_numpy() -> None:
    model = product_model("y = MatMul(x, w)", np.ones((300, 300)))
    assert sx.Session(model, engine="native").stats.fallback_nodes == 1


def test_every_stage_is_valid() -> None:
    compile_model(product_model("y = MatMul(x, w)", np.ones((3, 2))), host_target(), verify=True)
