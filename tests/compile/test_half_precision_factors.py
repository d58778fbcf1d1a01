"""Weights in half precision that a model casts to float32 for a product: they stay in 16 bits."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Model

K, N = 300, 512


def model_of(weights: Array, *, adds_total: bool = False) -> Model:
    """x @ weights, perhaps plus the total of the weights, so that not only a product reads them."""
    b = sx.ir.GraphBuilder(21, name="g")
    x = b.input("x", DataType.FLOAT, ["rows", K])
    promoted = b.Cast(b.constant("w", weights), to=DataType.FLOAT.value)
    y = b.MatMul(x, promoted)
    b.output(b.Add(y, b.ReduceSum(promoted)) if adds_total else y, "y")
    return b.model()


@pytest.mark.parametrize("dtype", [DataType.BFLOAT16, DataType.FLOAT16])
@pytest.mark.parametrize("rows", [1, 2, 7, 40])
def test_products_by_cast_weights(dtype: DataType, rows: int) -> None:
    draw = np.random.default_rng(5)
    weights = draw.integers(-8, 8, (K, N)).astype(dtype.numpy)
    x = draw.integers(-8, 8, (rows, K)).astype(np.float32)
    session = sx.Session(model_of(weights), engine="native")
    assert session.stats.fallback_nodes == 0
    np.testing.assert_array_equal(session.run({"x": x})["y"], x @ weights.astype(np.float32))


def test_weights_stay_in_16_bits() -> None:
    weights = np.ones((K, N), DataType.BFLOAT16.numpy)
    (step,) = compile_model(model_of(weights), host_target()).program.steps
    panels = step.reads[1]
    assert isinstance(panels.nbytes, int) and panels.nbytes < 3 * weights.size


def test_weights_that_others_read_too_are_promoted_once() -> None:
    weights = np.ones((K, N), DataType.BFLOAT16.numpy)
    session = sx.Session(model_of(weights, adds_total=True), engine="native")
    y = session.run({"x": np.ones((1, K), np.float32)})["y"]
    np.testing.assert_array_equal(y, np.full((1, N), K + K * N, np.float32))
