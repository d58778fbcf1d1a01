"""Terms that keep floats: those with the greatest errors, in a second product."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

import sardonyx as sx
from sardonyx._src.ir import Array, Model
from sardonyx._src.quantize.weights import slower_layers
from sardonyx._src.quantize.weights.grid import IntegerGrid
from sardonyx._src.quantize.weights.nearest import quantize_nearest
from sardonyx._src.quantize.weights.operands import OperandStatistics
from sardonyx._src.quantize.weights.outliers import outlier_terms

TERMS, COLUMNS = 100, 64
RNG = np.random.default_rng(9)
WEIGHT = (RNG.standard_normal((TERMS, COLUMNS)) / 10).astype(np.float32)
WEIGHT[[7, 70]] *= 40
ROWS = RNG.standard_normal((50, TERMS)).astype(np.float32)


def product() -> Model:
    b = sx.Builder(opset=21)
    return b.model(y=b.MatMul(b.input("x", "float32", ["N", TERMS]), WEIGHT, name="product"))


def decibels(actual: Array) -> float:
    exact = ROWS @ WEIGHT
    return float(10 * np.log10(np.square(exact).sum() / np.square(actual - exact).sum()))


def test_the_terms_are_those_of_large_weights_or_large_operands() -> None:
    assert outlier_terms(WEIGHT, 0.02, 32, None).tolist() == [7, 70]
    rows = ROWS * np.where(np.arange(TERMS) == 30, 1000, 1)
    even = np.ones((TERMS, COLUMNS), np.float32)
    assert outlier_terms(even, 0.01, 32, OperandStatistics.of_rows(rows)).tolist() == [30]


def test_one_outlier_by_exhaustive_search() -> None:
    """Without the chosen term, the error of a block is the least of those without any one term."""
    block = WEIGHT[:32]
    errors = []
    for term in range(32):
        rest = np.delete(block, term, axis=0)
        errors.append(np.square(quantize_nearest(rest, 32, IntegerGrid(4, True), None).values() - rest).sum())
    assert outlier_terms(block, 0.03, 32, None).tolist() == [int(np.argmin(errors))]


@pytest.mark.parametrize("form", ["qdq", "com.microsoft"])
@pytest.mark.parametrize("algorithm", ["clipped", "gptq"])
def test_results_are_better_and_run_elsewhere(algorithm: str, form: str, tmp_path: Path) -> None:
    results = [
        sx.quantize(
            product(),
            data={"x": ROWS},
            algorithm=algorithm,
            outliers=share,
            format=form,
            force=True,
            rounds=0,
        )
        for share in (0.08, 0)
    ]
    ours, without = (np.asarray(sx.Session(result.model).run({"x": ROWS})["y"]) for result in results)
    assert decibels(ours) > decibels(without) + 3
    assert results[0].report.layers[0].signal_to_noise == pytest.approx(decibels(ours), abs=1)
    path = tmp_path / "q.onnx"
    sx.save(results[0].model, path)
    assert sx.check(path).ok
    options = ort.SessionOptions()
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")  # rows stay float32
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    (theirs,) = session.run(None, {"x": ROWS})
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-3)


def test_outliers_that_make_a_layer_slower_are_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    def additions_are_slow(models: list[Model], feeds: object, rounds: int = 7) -> list[float]:
        return [1.0, 2.0 if any(node.op_type == "Add" for node in models[1].graph.nodes) else 0.5]

    monkeypatch.setattr(slower_layers, "latencies", additions_are_slow)
    result = sx.quantize(product(), data={"x": ROWS}, outliers=0.05, rounds=0)
    assert [layer.note for layer in result.report.layers] == [
        "outliers are rounded: they make it slower here"
    ]
    assert [node.op_type for node in result.model.graph.nodes] == ["DequantizeLinear", "MatMul"]
    with pytest.raises(sx.InputError, match="outliers must be a share of the terms below 1; got 2"):
        sx.quantize(product(), outliers=2)
