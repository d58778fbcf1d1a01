"""Weights of tables, convolutions and recurrences, of several readers, of subgraphs and functions, and contrib operators."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

import sardonyx as sx
from sardonyx._src.ir import Array, Model
from sardonyx._src.ir.walk import nodes, roots

RNG = np.random.default_rng(3)
TOKENS = RNG.integers(0, 200, (2, 5))
TABLE = (RNG.standard_t(4, (200, 64)) / 8).astype(np.float32)
FILTERS = (RNG.standard_t(4, (6, 32, 3, 3)) / 8).astype(np.float32)
IMAGE = RNG.standard_normal((1, 32, 8, 8)).astype(np.float32)
W, R = (
    (RNG.standard_t(4, (1, 64, 32)) / 8).astype(np.float32),
    (RNG.standard_t(4, (1, 64, 16)) / 8).astype("f4"),
)
BIAS = RNG.standard_normal(32).astype(np.float32)
SEQUENCE = RNG.standard_normal((4, 2, 32)).astype(np.float32)


def table_model() -> Model:
    b = sx.Builder(opset=17)
    return b.model(y=b.Gather(b.constant("table", TABLE), b.input("x", "int64", ["B", "T"]), name="lookup"))


def convolution() -> Model:
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["N", 32, "H", "W"])
    return b.model(y=b.Conv(x, FILTERS, pads=[1, 1, 1, 1], name="conv"))


def recurrence() -> Model:
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["T", "B", 32])
    _, h, _ = b.LSTM(x, b.constant("W", W), b.constant("R", R), hidden_size=16, outputs=3)
    return b.model(y=h)


def run_both(model: Model, feeds: dict[str, Array], path: Path) -> Array:
    """The output, which onnxruntime computes alike."""
    sx.save(model, path)
    assert sx.check(path).ok
    ours = np.asarray(sx.Session(path).run(feeds)["y"])
    options = ort.SessionOptions()
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")  # rows stay float32
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    (theirs,) = session.run(None, feeds)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-4)
    return ours


def decibels(actual: Array, exact: Array) -> float:
    return float(10 * np.log10(np.square(exact).sum() / np.square(actual - exact).sum()))


@pytest.mark.parametrize(("scheme", "least"), [("int4", 14), ("int8-weights", 38)])
@pytest.mark.parametrize(
    ("model", "x", "layers"),
    [(table_model, TOKENS, ["lookup"]), (convolution, IMAGE, ["conv"]), (recurrence, SEQUENCE, ["W", "R"])],
)
def test_kinds(model: object, x: Array, layers: list[str], scheme: str, least: float, tmp_path: Path) -> None:
    original = model()  # type: ignore[operator]
    exact = np.asarray(sx.Session(original).run({"x": x})["y"])
    result = sx.quantize(original, scheme, data={"x": x}, force=True, rounds=0)
    assert [layer.layer for layer in result.report.layers] == layers
    ours = run_both(result.model, {"x": x}, tmp_path / "q.onnx")
    assert decibels(ours, exact) > least


def test_bytes_of_convolutions_have_a_scale_for_each_output_channel() -> None:
    model = sx.quantize(convolution(), "int8-weights", force=True, rounds=0).model
    (node,) = (node for node in model.graph.nodes if node.op_type == "DequantizeLinear")
    integers, scales = (value.initializer.numpy() for value in node.inputs if value and value.initializer)
    assert (integers.shape, scales.shape) == (FILTERS.shape, (6,))
    np.testing.assert_allclose(scales, np.abs(FILTERS).max(axis=(1, 2, 3)) / 127, rtol=0.51)
    assert np.abs(integers.astype(np.float32) * scales[:, None, None, None] - FILTERS).max() <= scales.max()


def test_convolutions_of_few_channels_have_no_blocks() -> None:
    report = sx.quantize(convolution(), "int4", block=64, force=True, rounds=0).report
    assert [item.why for item in report.kept] == ["its 32 input channels are fewer than a block of 64"]


def test_a_table_that_is_also_a_product_s_weight_is_quantized_once(tmp_path: Path) -> None:
    b = sx.Builder(opset=21)
    table = b.constant("table", TABLE)
    rows = b.Gather(table, b.input("x", "int64", ["B", "T"]))
    original = b.model(y=b.MatMul(rows, b.Transpose(table)))
    exact = np.asarray(sx.Session(original).run({"x": TOKENS})["y"])
    result = sx.quantize(original, "int8-weights", force=True, rounds=0)
    assert [node.op_type for node in result.model.graph.nodes].count("DequantizeLinear") == 1
    assert decibels(run_both(result.model, {"x": TOKENS}, tmp_path / "q.onnx"), exact) > 38


def test_weights_of_subgraphs_and_functions(tmp_path: Path) -> None:
    weight = ", ".join(map(str, W[0].T.reshape(-1).tolist()))
    model = sx.from_text(f"""<ir_version: 10, opset_import: ["": 21, "local": 1]>
      g (float[N,32] x, bool c) => (float[N,64] y) <float[32,64] w = {{{weight}}}> {{
        y = If <then_branch = t () => (float[N,64] a) {{ a = MatMul(x, w) }},
                else_branch = e () => (float[N,64] b) {{ b = local.twice(x) }}> (c)
      }}
      <domain: "local", opset_import: ["": 21]> twice (x) => (z) {{
        v = Constant <value = float[32,64] {{{weight}}}> ()  p = MatMul(x, v)  z = Add(p, p) }}""")
    x = SEQUENCE[0]
    result = sx.quantize(model, "int8-weights", dims={"N": 2}, force=True, rounds=0)
    assert len(result.report.layers) == 2
    kinds = [node.op_type for graph in roots(result.model) for node in nodes(graph)]
    assert kinds.count("DequantizeLinear") == 2
    for condition in (True, False):
        feeds = {"x": x, "c": np.array(condition)}
        exact = x @ W[0].T * (1 if condition else 2)
        assert decibels(run_both(result.model, feeds, tmp_path / "q.onnx"), exact) > 38


@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("block", [32, 64, 128])
@pytest.mark.parametrize("scheme", ["int4", "int8-weights"])
def test_operators_of_com_microsoft(scheme: str, block: int, symmetric: bool, tmp_path: Path) -> None:
    b = sx.Builder(opset=17)
    rows = b.Gather(b.constant("table", TABLE), b.input("x", "int64", ["T"]))
    hidden = b.MatMul(rows, np.ascontiguousarray(W[0].T.repeat(2, axis=0)))
    model = b.model(y=b.Gemm(hidden, W[0], BIAS))
    settings = {"block": block, "symmetric": symmetric, "force": True, "rounds": 0}
    feeds = {"x": TOKENS[0]}
    expected, contrib = (
        sx.quantize(model, scheme, data=feeds, format=form, **settings).model  # type: ignore[arg-type]
        for form in ("qdq", "com.microsoft")
    )
    kinds = [node.op_type for node in contrib.graph.nodes]
    assert kinds == ["GatherBlockQuantized", "MatMulNBits", "MatMulNBits"]
    ours = run_both(contrib, feeds, tmp_path / "q.onnx")
    np.testing.assert_allclose(ours, sx.Session(expected).run(feeds)["y"], rtol=0, atol=1e-4)


def test_a_gemm_with_factors_has_no_contrib_form() -> None:
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["N", 32])
    model = b.model(y=b.Gemm(x, np.ascontiguousarray(W[0].T), alpha=2.0))
    result = sx.quantize(model, format="com.microsoft", force=True, rounds=0).model
    assert [node.op_type for node in result.graph.nodes] == ["DequantizeLinear", "Gemm"]
    with pytest.raises(sx.InputError, match="block must be one of 32, 64, 128"):
        sx.quantize(model, format="com.microsoft", block=16)
