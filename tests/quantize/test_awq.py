"""AWQ: terms are scaled without a change of the results, and the layers whose operand is large in few terms gain."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.ir import Array, Model
from sardonyx._src.quantize.calibration import calibration_data
from sardonyx._src.quantize.schemes.scheme import LayerPatterns
from sardonyx._src.quantize.schemes.weights import scale_model
from sardonyx._src.quantize.weights.grid import IntegerGrid
from sardonyx._src.quantize.weights.rounding import WeightRounding

RNG = np.random.default_rng(7)
WIDTH = 64
ROWS = RNG.standard_normal((80, WIDTH)).astype(np.float32)
GAIN = np.where(RNG.random(WIDTH) < 0.05, 30, 1).astype(
    np.float32
)  # a few large terms, as in language models
BIAS = RNG.standard_normal(WIDTH).astype(np.float32)


def drawn(*shape: int) -> Array:
    return np.asarray(RNG.standard_t(5, shape) / 8, np.float32)


def normalized(b: sx.Builder, x: sx.ir.Value) -> sx.ir.Value:
    return b.LayerNormalization(x, GAIN, BIAS)


def gated(b: sx.Builder, x: sx.ir.Value) -> sx.ir.Value:
    """The product of a gate and a product with a constant, as of SwiGLU."""
    return b.Mul(b.Sigmoid(x), b.MatMul(x, drawn(WIDTH, WIDTH) * GAIN, name="up"))


def rectified(b: sx.Builder, x: sx.ir.Value) -> sx.ir.Value:
    weight = np.ascontiguousarray((drawn(WIDTH, WIDTH) * GAIN).T)
    return b.Relu(b.Gemm(x, weight, BIAS, transB=1, name="first"))


def added(b: sx.Builder, x: sx.ir.Value) -> sx.ir.Value:
    return b.Add(b.MatMul(x, drawn(WIDTH, WIDTH) * GAIN, name="inner"), BIAS)


def model_of(operand: Callable[[sx.Builder, sx.ir.Value], sx.ir.Value]) -> Model:
    b = sx.Builder(opset=21)
    h = operand(b, b.input("x", "float32", ["N", WIDTH]))
    return b.model(q=b.MatMul(h, drawn(WIDTH, 32), name="q"), k=b.MatMul(h, drawn(WIDTH, 48), name="k"))


@pytest.mark.parametrize("operand", [normalized, gated, rectified, added])
def test_scaled_models_compute_the_same(
    operand: Callable[[sx.Builder, sx.ir.Value], sx.ir.Value],
) -> None:
    model = model_of(operand)
    data = calibration_data(model, {"x": ROWS}, 0, None)
    rounding = WeightRounding("awq", 32, IntegerGrid(4, True))
    scaled, reasons = scale_model(model, data, LayerPatterns(), rounding)
    assert not any(name in key for key in reasons for name in ("q", "k"))
    before, after = (sx.Session(part).run({"x": ROWS}) for part in (model, scaled))
    for name in ("q", "k"):
        np.testing.assert_allclose(after[name], before[name], rtol=1e-4, atol=1e-4)
    weights = [value.initializer for value in scaled.graph.initializers.values()]
    originals = [value.initializer for value in model.graph.initializers.values()]
    assert sum(not np.array_equal(a.numpy(), b.numpy()) for a, b in zip(weights, originals, strict=True)) >= 3  # type: ignore[union-attr]


def squared_errors(algorithm: str, exact: Model) -> float:
    quantized = sx.quantize(exact, data={"x": ROWS}, algorithm=algorithm, force=True, rounds=0).model
    expected, actual = (sx.Session(model).run({"x": ROWS}) for model in (exact, quantized))
    return sum(float(np.square(actual[name] - expected[name]).sum()) for name in expected)


def test_the_error_of_results_falls() -> None:
    """The exponent 0 is that of `clipped`, whose ranges know the large terms, too."""
    model = model_of(normalized)
    errors = {name: squared_errors(name, model) for name in ("nearest", "clipped", "awq")}
    assert errors["awq"] <= errors["clipped"] * 1.001
    assert errors["awq"] < 0.5 * errors["nearest"]


def test_layers_that_cannot_be_scaled_are_named() -> None:
    b = sx.Builder(opset=21)
    h = normalized(b, b.input("x", "float32", ["N", WIDTH]))
    first = b.Tanh(b.MatMul(h, drawn(WIDTH, WIDTH), name="shared"))
    model = b.model(y=b.MatMul(first, drawn(WIDTH, 8), name="late"), z=b.Relu(h))
    report = sx.quantize(model, data={"x": ROWS}, algorithm="awq", force=True, rounds=0).report
    notes = {layer.layer: layer.note for layer in report.layers}
    assert notes == {
        "shared": "not scaled: Relu reads its operand, too",
        "late": "not scaled: Tanh computes its operand",
    }
