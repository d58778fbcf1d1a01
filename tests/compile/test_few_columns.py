"""Products by a constant matrix of few columns, as dot products, against NumPy in double precision."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from compile import guarded
from compile.lane_widths import with_lanes
from compile.stages import AVX512, stages_of
from compile.test_few_rows import draw, tensors_of
from models import parse_model
from sardonyx._src.compile.kernels.epilogue import Epilogue
from sardonyx._src.compile.kernels.gemm.unpacked.few_columns import (
    FewColumns,
    few_columns_step,
    is_few_columns,
)
from sardonyx._src.compile.kernels.gemm.unpacked.few_columns_kernel import GRID
from sardonyx._src.compile.program.operands.tensor import transpose_matrix
from sardonyx._src.ir import Array, Model, Tensor

LANES = [16, 8, 4, 1]


def product(
    a: Array, weights: Array, bias: Array | None, lanes: int, epilogue: Epilogue, *others: Array
) -> Array:
    y = np.full((len(a), weights.shape[1]), -7, np.float32)
    (ta, ty, *operands), arrays = tensors_of(a, y, *others)
    assert is_few_columns(ta, weights, ty, epilogue, tuple(operands))
    step = few_columns_step(ta, FewColumns(weights, bias), ty, epilogue, tuple(operands))
    guarded.run([with_lanes(step, lanes)], arrays)
    return y


@pytest.mark.parametrize("columns", [1, 2, 3, 4])
def test_results_have_the_same_bits_for_all_vectors_and_rows(columns: int) -> None:
    """A sum depends neither on the vectors of the target nor on the rows around its own."""
    a, weights = draw(2 * GRID + 5, 77), draw(77, columns, seed=2)
    results = [product(a, weights, None, lanes, Epilogue()) for lanes in LANES if lanes > 1]
    assert len({result.tobytes() for result in results}) == 1
    for row in (0, 7, 2 * GRID + 4):
        alone = product(a[row : row + 1], weights, None, 16, Epilogue())
        assert alone.tobytes() == results[0][row].tobytes()


def test_numbers_that_are_not_finite_stay_in_their_row() -> None:
    a, weights = draw(20, 25), draw(25, 3, seed=2)
    a[4, 24], a[17, 0] = np.nan, np.inf
    y = product(a, weights, None, 16, Epilogue())
    assert np.isnan(y[4]).all()
    assert np.isinf(y[17]).all()
    assert np.isfinite(np.delete(y, [4, 17], axis=0)).all()


@pytest.mark.parametrize(
    ("shape", "columns", "reason"),
    [((9, 40), 5, "too many columns"), ((9, 15), 2, "too few terms")],
)
def test_other_products_are_left_to_the_gemm(shape: tuple[int, ...], columns: int, reason: str) -> None:
    weights = draw(shape[-1], columns)
    (a, y), _ = tensors_of(draw(*shape), draw(9, columns))
    assert not is_few_columns(a, weights, y, Epilogue(), ()), reason


def test_columns_of_a_that_are_contiguous_are_left_to_the_gemm() -> None:
    (a, y), _ = tensors_of(draw(40, 9), draw(9, 1))
    assert not is_few_columns(transpose_matrix(a), draw(40, 1), y, Epilogue(), ())


def model_of(text: str, weights: Array) -> Model:
    model = parse_model(text, opset=21)
    value = next(v for v in model.graph.inputs if v.name == "w")
    model.graph.remove_input(value)
    value.initializer = Tensor.of(weights)
    model.graph.add_initializer(value)
    return model


@pytest.mark.parametrize("rows", [1, 63, 1000])
def test_a_model_computes_the_same_on_any_number_of_threads(rows: int) -> None:
    weights, x = draw(50, 3), draw(2, rows, 50, seed=2)
    text = "g (float[2,N,50] x, float[50,3] w) => (float[2,N,3] y) { p = MatMul(x, w)  y = Sigmoid(p) }"
    results = []
    for threads in (1, 2):
        session = sx.Session(model_of(text, weights), engine="native", threads=threads)
        assert session.stats.fallback_nodes == 0
        results.append(np.asarray(session.run({"x": x})["y"]))
    assert results[0].tobytes() == results[1].tobytes()
    expected = 1 / (1 + np.exp(-(x.astype(np.float64) @ weights)))
    np.testing.assert_allclose(results[0], expected, 1e-5, 1e-6)


def test_the_last_layer_of_a_classifier_has_dot_products() -> None:
    text = """
    agraph (float[N,40] x) => (float[N,2] y) {
      w = RandomUniform <shape = [40, 2], seed = 1.0> ()
      y = MatMul(x, w)
    }
    """
    keys = [step.kernel.key for step in stages_of(text, AVX512).program.steps]
    assert [key.split(":")[0] for key in keys] == ["few_columns_f32_2"]
