"""`sx.quantize`: the models that it writes, and what its report says of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

import sardonyx as sx
from sardonyx._src.ir import Array
from sardonyx._src.quantize.weights import slower_layers

TERMS, HIDDEN, CLASSES = 96, 160, 10
RNG = np.random.default_rng(0)
ROWS = (RNG.standard_normal((70, TERMS)) @ RNG.standard_normal((TERMS, TERMS)) / 10).astype(np.float32)
W1, W2, BIAS = (
    (RNG.standard_t(4, shape) / 8).astype(np.float32)
    for shape in ((TERMS, HIDDEN), (CLASSES, HIDDEN), (CLASSES,))
)


def classifier(opset: int = 17, rows: int | str = "B") -> sx.Model:
    b = sx.Builder(opset=opset)
    x = b.input("x", "float32", [rows, TERMS])
    hidden = b.Relu(b.MatMul(x, W1, name="first"))
    return b.model(y=b.Gemm(hidden, W2, BIAS, transB=1, name="second"))


def expected(rows: Array) -> Array:
    return np.asarray(np.maximum(rows @ W1, 0) @ W2.T + BIAS)


def signal_to_noise(actual: Array, exact: Array) -> float:
    return float(10 * np.log10(np.square(exact).sum() / np.square(actual - exact).sum()))


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize(("scheme", "least"), [("int4", 12), ("int8-weights", 36)])
def test_models_are_standard_and_run_elsewhere(
    scheme: str, least: float, symmetric: bool, tmp_path: Path
) -> None:
    result = sx.quantize(classifier(), scheme, data={"x": ROWS}, symmetric=symmetric, force=True, rounds=0)
    path = tmp_path / "q.onnx"
    sx.save(result.model, path)
    assert sx.check(path).ok
    assert {node.domain for node in result.model.graph.nodes} == {""}
    ours = sx.Session(path).run({"x": ROWS})["y"]
    (theirs,) = ort.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, {"x": ROWS})
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4)
    measured = signal_to_noise(ours, expected(ROWS))
    assert measured > least
    (output,) = result.report.outputs
    assert output.signal_to_noise == pytest.approx(measured, abs=0.05)
    assert output.largest == pytest.approx(np.abs(ours - expected(ROWS)).max(), rel=1e-2)
    classes = (ours.argmax(axis=1) != expected(ROWS).argmax(axis=1)).mean()
    assert output.changed_classes == pytest.approx(classes, abs=1e-9)


def test_the_size_is_that_of_the_integers_and_scales() -> None:
    result = sx.quantize(classifier(), "int4", block=32, force=True, rounds=0)
    count = W1.size + W2.size
    assert result.report.bytes == (4 * (count + BIAS.size), count // 2 + 4 * (count // 32 + BIAS.size))
    assert [layer.layer for layer in result.report.layers] == ["first", "second"]


@pytest.mark.parametrize("block", [0, 64])
def test_blocks_need_not_divide_the_terms(block: int, tmp_path: Path) -> None:
    result = sx.quantize(classifier(), "int8-weights", data={"x": ROWS}, block=block, force=True, rounds=0)
    sx.save(result.model, tmp_path / "q.onnx")
    assert sx.check(tmp_path / "q.onnx").ok
    values = result.model.graph.initializers.values()
    scales = sorted(np.shape(v.initializer.numpy()) for v in values if v.initializer and "scale" in v.name)
    assert scales == ([(1, HIDDEN), (CLASSES, 1)] if not block else [(2, HIDDEN), (CLASSES, 3)])
    assert signal_to_noise(sx.Session(result.model).run({"x": ROWS})["y"], expected(ROWS)) > 34


def test_the_original_is_not_changed() -> None:
    model = classifier()
    before = sx.to_text(model)
    sx.quantize(model, force=True, rounds=0)
    assert sx.to_text(model) == before


@pytest.mark.parametrize(
    ("choice", "quantized", "why"),
    [
        ({"nodes": ["fir*"]}, ["first"], "no pattern of nodes names it"),
        ({"exclude": ["*cond"]}, ["first"], "it is excluded"),
    ],
)
def test_patterns_choose_layers(choice: dict[str, list[str]], quantized: list[str], why: str) -> None:
    report = sx.quantize(classifier(), force=True, rounds=0, **choice).report  # type: ignore[arg-type]
    assert [layer.layer for layer in report.layers] == quantized
    assert [(item.layer, item.why) for item in report.kept] == [("second", why)]


def test_a_weight_that_others_read_stays() -> None:
    b = sx.Builder(opset=21)
    x = b.input("x", "float32", ["B", TERMS])
    w = b.constant("w", W1)
    product = b.MatMul(x, w, name="product")
    model = b.model(y=product, z=b.Relu(w))
    report = sx.quantize(model, force=True, rounds=0).report
    assert not report.layers
    assert [(item.layer, item.why) for item in report.kept] == [("product", "Relu reads the weight, too")]


def test_layers_that_are_slower_here_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    def first_is_slower(models: object, feeds: dict[str, Array], rounds: int = 7) -> list[float]:
        return [1.0, 2.0 if next(iter(feeds.values())).shape[1] == TERMS else 0.5]

    monkeypatch.setattr(slower_layers, "latencies", first_is_slower)
    report = sx.quantize(classifier(), data={"x": ROWS}).report
    assert [layer.layer for layer in report.layers] == ["second"]
    assert [item.why for item in report.kept] == ["it is slower here: 0.50 times as fast"]


def test_data_of_many_rows_are_cut_to_the_rows_of_the_model() -> None:
    assert sx.quantize(classifier(rows=7), data={"x": ROWS}, force=True, rounds=0).report.runs == 10
    assert (
        sx.quantize(classifier(), data=[{"x": ROWS[:3]}, {"x": ROWS}], force=True, rounds=0).report.runs == 4
    )


def test_runs_are_timed_before_and_after() -> None:
    report = sx.quantize(classifier(), data={"x": ROWS}, force=True, rounds=1).report
    assert report.speed == pytest.approx(report.seconds[0] / report.seconds[1])
    assert "a run on this machine" in str(report)


def test_random_data_are_named() -> None:
    report = sx.quantize(classifier(), dims={"B": 5}, force=True, rounds=0).report
    assert report.is_random
    assert "random data" in str(report)


def test_data_and_weights_must_be_finite() -> None:
    rows = ROWS.copy()
    rows[3, 4] = np.nan
    for algorithm in ("clipped", "gptq"):
        with pytest.raises(sx.InputError, match="what the runs give the layer 'first' must be finite"):
            sx.quantize(classifier(), data={"x": rows}, algorithm=algorithm, force=True)
    b = sx.Builder(opset=21)
    weight = W1.copy()
    weight[0, 0] = np.inf
    model = b.model(y=b.MatMul(b.input("x", "float32", ["B", TERMS]), weight, name="first"))
    with pytest.raises(sx.InputError, match="the weight of 'first' must be finite"):
        sx.quantize(model, data={"x": ROWS}, force=True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: sx.quantize(m, "int3"), "scheme must be"),
        (lambda m: sx.quantize(m, algorithm="magic"), "algorithm must be"),
        (lambda m: sx.quantize(m, block=48), "block must be 0, or a power of two"),
        (lambda m: sx.quantize(m, data=[]), "at least one run"),
        (lambda m: sx.quantize(m, data=[{"z": ROWS}]), "z"),
    ],
)
def test_wrong_arguments(call: Callable[[sx.Model], object], message: str) -> None:
    with pytest.raises(sx.InputError, match=message):
        call(classifier())
