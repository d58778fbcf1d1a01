"""Static and dynamic int8: the models that are written, what other engines make of them, and the errors that are reported."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

import sardonyx as sx
from quantize.networks import (
    W0,
    convolutional,
    images,
    operators,
    run_elsewhere,
    signal_to_noise,
    weight,
)
from sardonyx._src.quantize.activations import slower_layers
from sardonyx._src.quantize.ranges.table import RANGES

FEEDS = {"x": images(24)}
NAMES = ["first", "depthwise", "wide", "narrow", "last"]


def assert_quantized(model: sx.Model, scheme: str, folder: Path, least: float, **options: object) -> sx.Model:
    """The model is valid, other engines compute the same, and its error is what the report says."""
    exact = sx.Session(model).run(FEEDS)["y"]
    result = sx.quantize(model, scheme, data=FEEDS, force=True, rounds=0, **options)  # type: ignore[arg-type]
    ours = sx.Session(result.model).run(FEEDS)["y"]
    theirs = run_elsewhere(result.model, FEEDS, folder)["y"]
    assert sx.check(folder / "quantized.onnx").ok
    assert {node.domain for node in result.model.graph.nodes} == {""}
    # engines round sums before a QuantizeLinear in other orders: few elements become the next integer
    assert signal_to_noise(ours, theirs) > least + 10
    measured = signal_to_noise(ours, exact)
    assert measured > least
    assert result.report.outputs[0].signal_to_noise == pytest.approx(measured, abs=0.05)
    assert [layer.layer for layer in result.report.layers] == NAMES
    return result.model


@pytest.mark.parametrize("activations", ["uint8", "int8"])
@pytest.mark.parametrize("ranges", RANGES)
def test_static_models_run_elsewhere(ranges: str, activations: str, tmp_path: Path) -> None:
    model = convolutional()
    quantized = assert_quantized(model, "int8", tmp_path, 20, ranges=ranges, activations=activations)
    assert [value.name for value in quantized.graph.inputs] == ["x"]
    assert quantized.graph.inputs[0].type == model.graph.inputs[0].type
    assert quantized.graph.outputs[0].type == model.graph.outputs[0].type


def test_dynamic_models_run_elsewhere(tmp_path: Path) -> None:
    quantized = assert_quantized(convolutional(), "int8-dynamic", tmp_path, 20)
    assert {"DynamicQuantizeLinear", "ConvInteger", "MatMulInteger"} <= {*operators(quantized)}
    assert not {"Conv", "Gemm"} & {*operators(quantized)}


def test_operator_form_runs_elsewhere(tmp_path: Path) -> None:
    quantized = assert_quantized(convolutional(), "int8", tmp_path, 20, format="qoperator")
    assert operators(quantized).count("QLinearConv") == 4
    assert operators(quantized).count("Relu") == 1  # that of the residual addition


def test_pairs_at_all_layers_run_elsewhere(tmp_path: Path) -> None:
    fused = assert_quantized(convolutional(), "int8", tmp_path, 20)
    everywhere = assert_quantized(convolutional(), "int8", tmp_path, 20, pairs="all")
    assert operators(everywhere).count("QuantizeLinear") > operators(fused).count("QuantizeLinear")


def test_residual_additions_are_integers_elsewhere(tmp_path: Path) -> None:
    """onnxruntime adds bytes of two scales: with pairs at all layers, a residual addition needs no common one."""
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["N", 3, 12, 12])
    first = b.Relu(b.Conv(x, weight(8, 3, 3, 3), name="first"))
    second = b.Conv(first, weight(8, 8, 3, 3), pads=[1, 1, 1, 1], name="second")
    model = b.model(y=b.Conv(b.Relu(b.Add(second, first)), weight(4, 8, 1, 1), name="last"))
    result = sx.quantize(model, "int8", data=FEEDS, force=True, rounds=0, pairs="all")
    sx.save(result.model, tmp_path / "quantized.onnx")
    options = ort.SessionOptions()
    options.optimized_model_filepath, options.log_severity_level = str(tmp_path / "optimized.onnx"), 4
    ort.InferenceSession(tmp_path / "quantized.onnx", options, providers=["CPUExecutionProvider"])
    optimized = operators(sx.load(tmp_path / "optimized.onnx"))
    assert "Add" not in optimized and optimized.count("QLinearAdd") == 1


def test_no_pair_is_between_a_layer_and_its_epilogue() -> None:
    quantized = sx.quantize(convolutional(), "int8", data=FEEDS, force=True, rounds=0).model
    for node in quantized.graph.nodes:
        if node.op_type in ("Conv", "Gemm"):
            assert all(user.op_type != "QuantizeLinear" for user, _ in node.outputs[0].uses)


def test_what_is_moved_shares_a_scale() -> None:
    quantized = sx.quantize(convolutional(), "int8", data=FEEDS, force=True, rounds=0).model
    (concat,) = (node for node in quantized.graph.nodes if node.op_type == "Concat")
    pools = [user for user, _ in concat.outputs[0].uses]
    sources = [value.producer for value in concat.inputs if value is not None]
    assert [node.op_type for node in sources if node is not None] == ["DequantizeLinear"] * 2
    assert [node.op_type for node in pools] == ["QuantizeLinear"]
    scales = {node.inputs[1] for node in (*sources, *pools) if node is not None}
    assert len(scales) == 1


def test_biases_and_weights_are_integers() -> None:
    quantized = sx.quantize(convolutional(), "int8", data=FEEDS, force=True, rounds=0).model
    (first,) = (node for node in quantized.graph.nodes if node.name == "first")
    operand, weights, bias = (value.producer for value in first.inputs if value is not None)
    assert operand is not None and weights is not None and bias is not None
    tensors = [[value.initializer.numpy() for value in node.inputs if value] for node in (weights, bias)]  # type: ignore[union-attr]
    np.testing.assert_allclose(tensors[0][1], np.abs(W0).max(axis=(1, 2, 3)) / 127, rtol=1e-6)
    assert (tensors[0][0].dtype, tensors[1][0].dtype) == (np.int8, np.int32)
    scale = operand.inputs[1].initializer.numpy()  # type: ignore[union-attr]
    np.testing.assert_allclose(tensors[1][1], tensors[0][1] * scale, rtol=1e-6)
    np.testing.assert_allclose(scale, (FEEDS["x"].max() - FEEDS["x"].min()) / 255, rtol=1e-6)


def test_old_models_are_converted() -> None:
    quantized = sx.quantize(convolutional(opset=11), "int8", data=FEEDS, force=True, rounds=0).model
    assert quantized.opset_imports[""] == 13
    assert sx.Session(quantized).run(FEEDS)["y"].shape == (24, 10)


def test_patterns_choose_layers() -> None:
    report = sx.quantize(
        convolutional(), "int8", data=FEEDS, force=True, rounds=0, exclude=["first", "la*"]
    ).report
    assert [layer.layer for layer in report.layers] == ["depthwise", "wide", "narrow"]
    assert [(item.layer, item.why) for item in report.kept] == [
        ("first", "it is excluded"),
        ("last", "it is excluded"),
    ]


@pytest.mark.parametrize("scheme", ["int8", "int8-dynamic"])
def test_layers_that_are_slower_here_stay(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def depthwise_is_slower(models: list[sx.Model], feeds: object, rounds: int = 7) -> list[float]:
        names = {node.name for node in models[0].graph.nodes}
        return [1.0, 2.0 if names == {"depthwise"} else 0.5]

    monkeypatch.setattr(slower_layers, "latencies", depthwise_is_slower)
    report = sx.quantize(convolutional(), scheme, data=FEEDS, rounds=0).report
    assert [layer.layer for layer in report.layers] == [name for name in NAMES if name != "depthwise"]
    assert [(item.layer, item.why) for item in report.kept] == [
        ("depthwise", "it is slower here: 0.50 times as fast")
    ]


@pytest.mark.parametrize("scheme", ["int8", "int8-dynamic"])
def test_no_model_is_written_that_is_slower(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def whole_is_slower(models: list[sx.Model], feeds: object, rounds: int = 7) -> list[float]:
        return [1.0, 1.25 if len(models[0].graph.nodes) > 3 else 0.5]

    monkeypatch.setattr(slower_layers, "latencies", whole_is_slower)
    result = sx.quantize(convolutional(), scheme, data=FEEDS, rounds=0)
    assert not result.report.layers
    assert {item.why for item in result.report.kept} == {"the whole model is slower here: 0.80 times as fast"}
    assert "QuantizeLinear" not in operators(result.model)


def test_products_of_three_dims_and_computed_operands() -> None:
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["N", 5, 16])
    keys = b.MatMul(x, weight(16, 16), name="keys")
    scores = b.Softmax(b.MatMul(x, b.Transpose(keys, perm=[0, 2, 1]), name="scores"))
    model = b.model(y=b.MatMul(scores, b.MatMul(x, weight(16, 16), name="values"), name="mixed"))
    feeds = {"x": np.random.default_rng(2).standard_normal((3, 5, 16)).astype(np.float32)}
    result = sx.quantize(model, "int8", data=feeds, force=True, rounds=0)
    assert [layer.layer for layer in result.report.layers] == ["keys", "values"]
    exact = sx.Session(model).run(feeds)["y"]
    assert signal_to_noise(sx.Session(result.model).run(feeds)["y"], exact) > 25


def test_data_must_be_finite() -> None:
    rows = images(2)
    rows[1, 0, 3, 4] = np.inf
    with pytest.raises(sx.InputError, match="of the runs must be finite"):
        sx.quantize(convolutional(), "int8", data={"x": rows}, force=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"block": 32}, "block must be None for the scheme 'int8'; got 32: it is an option of int4"),
        ({"ranges": "magic"}, "ranges must be"),
        ({"activations": "int4"}, "activations must be"),
        ({"equalize": "all"}, "equalize must be"),
        ({"format": "magic"}, "format must be"),
        ({"pairs": "none"}, "pairs must be"),
        ({"metric": "magic"}, "metric must be"),
        ({"accuracy": -1.0}, "accuracy must be at least 0"),
    ],
)
def test_wrong_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(sx.InputError, match=message):
        sx.quantize(convolutional(), "int8", data=FEEDS, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("scheme", ["int8", "int8-dynamic"])
def test_new_names_are_short_where_values_are_named_by_paths(scheme: str) -> None:
    model = convolutional()
    for node in model.graph.nodes:
        for value in node.outputs:
            if value not in model.graph.outputs:
                value.name = f"network/{'block/' * 20}{value.name};network/{'block/' * 20}{value.name}"
    before = {value.name for node in model.graph.nodes for value in node.outputs}
    quantized = sx.quantize(model, scheme, data=FEEDS, force=True, shares=False).model
    new = {value.name for node in quantized.graph.nodes for value in (*node.inputs, *node.outputs) if value}
    assert len(new - before) > len(NAMES)
    assert [name for name in new - before if len(name) > 60] == []
