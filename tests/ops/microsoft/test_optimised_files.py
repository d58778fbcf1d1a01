"""Files that onnxruntime's optimizer has written run on both engines, and become files of standard operators."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.convert.vendor_operators import vendor_operators
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Model, Tensor, TensorType
from sardonyx._src.ir.walk import nodes, roots
from sardonyx._src.tools.inline import inline

onnxruntime = pytest.importorskip("onnxruntime")

RNG = np.random.default_rng(8)
TRANSFORMER = """g (float[B,5,16] x, float[16,16] wq, float[16,16] wk, float[16,16] wv, float[16,16] wo, float[16] bias,
    float[16] gamma, float[16] beta, float[16,32] up, float[32] up_bias, float[32,16] down) => (float[B,5,16] y)
  <float eighth = {0.353553}, float half = {0.5}, float one = {1.0}, float root = {1.4142135}, float epsilon = {1e-5},
   float two = {2.0}, int64[4] split = {0, 0, 2, 8}, int64[3] merge = {0, 0, 16}>
{
  q = MatMul(x, wq)  q1 = Add(q, bias)  q2 = Reshape(q1, split)  q3 = Transpose <perm = [0, 2, 1, 3]> (q2)
  k = MatMul(x, wk)  k1 = Add(k, bias)  k2 = Reshape(k1, split)  k3 = Transpose <perm = [0, 2, 3, 1]> (k2)
  v = MatMul(x, wv)  v1 = Add(v, bias)  v2 = Reshape(v1, split)  v3 = Transpose <perm = [0, 2, 1, 3]> (v2)
  s = MatMul(q3, k3)  s1 = Mul(s, eighth)  p = Softmax <axis = -1> (s1)  o = MatMul(p, v3)
  o1 = Transpose <perm = [0, 2, 1, 3]> (o)  o2 = Reshape(o1, merge)  o3 = MatMul(o2, wo)  o4 = Add(o3, bias)
  r = Add(o4, x)
  mean = ReduceMean <axes = [-1]> (r)  d = Sub(r, mean)  d2 = Pow(d, two)  var = ReduceMean <axes = [-1]> (d2)
  ve = Add(var, epsilon)  sd = Sqrt(ve)  n = Div(d, sd)  n1 = Mul(n, gamma)  h = Add(n1, beta)
  f = MatMul(h, up)  f1 = Add(f, up_bias)  e = Div(f1, root)  e1 = Erf(e)  e2 = Add(e1, one)  e3 = Mul(f1, e2)
  g1 = Mul(e3, half)  m = MatMul(g1, down)  y = Add(m, h)
}"""
CONVOLUTIONS = """g (float[1,3,8,8] x, float[4,3,3,3] w, float[4] b, float[4,4,1,1] w2, float[4,4] m, float[4] c) => (float[1,4] y)
{
  a = Conv <pads = [1, 1, 1, 1]> (x, w, b)  r = Relu(a)  d = Conv(r, w2)  s = Add(d, r)  t = Relu(s)
  p = GlobalAveragePool(t)  f = Flatten(p)  z = Gemm <transB = 1> (f, m, c)  y = Relu(z)
}"""
DYNAMIC = """g (float[2,16] x, int8[16,8] w) => (float[2,8] y) <float scale = {0.02}, int8 zero = {0}>
{
  q, s, z = DynamicQuantizeLinear(x)  p = MatMulInteger(q, w, z, zero)  f = Cast <to = 1> (p)  t = Mul(s, scale)  y = Mul(f, t)
}"""
QUANTIZED = """g (float[1,4,6,6] x, uint8[4,4,3,3] w) => (float[1,4,1,1] y)
  <float s = {0.05}, uint8 z = {128}, float ws = {0.01}, float t = {0.1}>
{
  q = QuantizeLinear(x, s, z)  d = DequantizeLinear(q, s, z)  v = DequantizeLinear(w, ws, z)
  a = Conv <pads = [1, 1, 1, 1]> (d, v)  aq = QuantizeLinear(a, t, z)  ad = DequantizeLinear(aq, t, z)
  b = Add(ad, d)  bq = QuantizeLinear(b, t, z)  bd = DequantizeLinear(bq, t, z)
  c = GlobalAveragePool(bd)  cq = QuantizeLinear(c, s, z)  y = DequantizeLinear(cq, s, z)
}"""
# By name, the text, the shape of x, the operators of com.microsoft that the optimizer makes, and the tolerance.
MODELS = {
    "transformer": (TRANSFORMER, (2, 5, 16), {"BiasGelu", "FusedMatMul"}, 1e-5),
    "convolutions": (CONVOLUTIONS, (1, 3, 8, 8), {"FusedConv", "FusedGemm"}, 1e-5),
    "dynamic": (DYNAMIC, (2, 16), {"DynamicQuantizeMatMul"}, 1e-5),
    "quantized": (
        QUANTIZED,
        (1, 4, 6, 6),
        {"QLinearAdd", "QLinearGlobalAveragePool"},
        0.051,
    ),  # one step of the result
}


def drawn(text: str) -> Model:
    """The model with random weights for all inputs but x."""
    model = parse_model(text, opset=13)
    for value in list(model.graph.inputs):
        assert isinstance(value.type, TensorType) and value.type.shape is not None
        if value.name != "x":
            shape = [dim for dim in value.type.shape if isinstance(dim, int)]
            is_float = value.type.dtype is DataType.FLOAT
            weights = RNG.normal(size=shape) * 0.3 if is_float else RNG.integers(0, 100, shape)
            model.graph.remove_input(value)
            value.initializer = Tensor.of(weights.astype(value.type.dtype.numpy))
            model.graph.add_initializer(value)
    return model


def optimized(path: Path, folder: Path) -> Path:
    """The file that onnxruntime's optimizer makes of a model."""
    result = folder / "optimized.onnx"
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(result)
    options.log_severity_level = 4
    onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return result


def run_onnxruntime(path: Path, feeds: Mapping[str, Array]) -> list[Array]:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return list(session.run(None, dict(feeds)))


@pytest.mark.parametrize("name", MODELS)
def test_an_optimized_file_runs_and_becomes_standard(name: str, tmp_path: Path) -> None:
    text, shape, operators, tolerance = MODELS[name]
    sx.save(drawn(text), tmp_path / "plain.onnx")
    path = optimized(tmp_path / "plain.onnx", tmp_path)
    feeds = {"x": RNG.normal(size=shape).astype(np.float32)}
    (expected,) = run_onnxruntime(path, feeds)
    model = sx.load(path)
    assert operators <= {node.op_type for node in nodes(model.graph) if node.domain == "com.microsoft"}
    for engine in ("reference", "native"):
        session = sx.Session(path, engine=engine)
        result = session.run(feeds)["y"]
        assert isinstance(result, np.ndarray)
        np.testing.assert_allclose(result, expected, 1e-5, tolerance, err_msg=engine)
    assert session.stats.fallback_nodes == 0
    for tool, standard in (
        ("convert", sx.convert(model, 17, sets={"com.microsoft": 0})),
        ("inline", inline(model)),
    ):
        assert not vendor_operators(standard), tool
        assert "com.microsoft" not in {node.domain for root in roots(standard) for node in nodes(root)}, tool
        sx.save(standard, tmp_path / "standard.onnx")
        (portable,) = run_onnxruntime(tmp_path / "standard.onnx", feeds)
        np.testing.assert_allclose(portable, expected, 1e-5, tolerance, err_msg=tool)


@pytest.mark.parametrize("name", MODELS)
def test_an_optimized_file_has_no_error_of_its_operators(name: str, tmp_path: Path) -> None:
    """Its operators of ai.onnx may be newer than its import, which is an error of the file."""
    sx.save(drawn(MODELS[name][0]), tmp_path / "plain.onnx")
    report = sx.check(optimized(tmp_path / "plain.onnx", tmp_path))
    assert {d.rule for d in report.diagnostics if d.severity == "error"} <= {"SX201"}
