"""`float16`, `bfloat16` and `float32` of `sx.quantize`: what changes, what stays, and why."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest

import sardonyx as sx
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Array, Node
from sardonyx._src.ir.walk import nodes

RNG = np.random.default_rng(3)
ROWS = RNG.standard_normal((12, 16)).astype(np.float32)
WEIGHT = (RNG.standard_normal((16, 8)) / 4).astype(np.float32)


def quantized(model: sx.Model, scheme: str = "float16", **options: object) -> sx.Quantization:
    return sx.quantize(model, scheme, rounds=0, **{"data": {"x": ROWS}, **options})  # type: ignore[arg-type]


def operators(model: sx.Model) -> list[str]:
    return [node.op_type for node in nodes(model.graph)]


def node_of(model: sx.Model, op_type: str) -> Node:
    (node,) = (node for node in nodes(model.graph) if node.op_type == op_type)
    return node


def input_types(model: sx.Model, op_type: str) -> list[str]:
    """The element types that a node reads."""
    typed = sx.infer(model.copy())
    return [
        str(value.type).partition("[")[0] for value in node_of(typed, op_type).inputs if value is not None
    ]


def reasons(result: sx.Quantization) -> dict[str, str]:
    return {item.layer: item.why for item in result.report.kept}


def classifier(opset: int = 17) -> sx.Model:
    b = sx.Builder(opset=opset)
    x = b.input("x", "float32", ["N", 16])
    return b.model(y=b.Softmax(b.Relu(x @ WEIGHT)), best=b.ArgMax(x @ WEIGHT, axis=1))


def expected(weight: Array, dtype: np.dtype[np.generic]) -> Array:
    """Softmax(Relu(x w)), with operands and each result rounded."""
    product = (ROWS.astype(dtype).astype(np.float32) @ weight.astype(dtype).astype(np.float32)).astype(dtype)
    powers = np.exp(np.maximum(product, 0).astype(np.float32))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True)).astype(dtype).astype(np.float32)


@pytest.mark.parametrize(("scheme", "step"), [("float16", 2**-11), ("bfloat16", 2**-8)])
def test_weights_and_arithmetic_change_and_borders_do_not(scheme: str, step: float, tmp_path: Path) -> None:
    result = quantized(classifier(), scheme)
    dtype = DataType[scheme.upper()]
    assert {v.initializer.dtype for v in result.model.graph.initializers.values() if v.initializer} == {dtype}
    assert sorted(operators(result.model)) == sorted(
        ["Cast", "MatMul", "Relu", "Softmax", "Cast", "MatMul", "ArgMax"]
    )
    assert [str(v.type) for v in result.model.graph.outputs] == ["float[N,8]", "int64[N,1]"]
    actual = sx.Session(result.model).run({"x": ROWS})["y"]
    np.testing.assert_allclose(actual, expected(WEIGHT, dtype.numpy), rtol=4 * step, atol=0)
    assert result.report.bytes[1] * 2 == result.report.bytes[0]
    sx.save(result.model, tmp_path / "half.onnx")
    assert sx.check(tmp_path / "half.onnx").ok


def test_other_runtimes_run_it(tmp_path: Path) -> None:
    sx.save(quantized(classifier()).model, tmp_path / "half.onnx")
    session = ort.InferenceSession(tmp_path / "half.onnx", providers=["CPUExecutionProvider"])
    (y, _) = session.run(None, {"x": ROWS})
    np.testing.assert_allclose(y, expected(WEIGHT, np.dtype(np.float16)), rtol=2**-8, atol=0)


def test_inputs_and_outputs_change_if_asked() -> None:
    result = quantized(classifier(), keep_types=False)
    graph = result.model.graph
    assert [str(value.type) for value in (*graph.inputs, *graph.outputs)] == [
        "float16[N,16]", "float16[N,8]", "int64[N,1]",
    ]  # fmt: skip
    assert "Cast" not in operators(result.model)
    assert result.report.outputs[0].signal_to_noise > 40


def test_the_reverse_has_float32_weights_and_no_casts() -> None:
    half = quantized(classifier(), keep_types=False).model
    back = quantized(half, "float32", keep_types=False, data={"x": ROWS.astype(np.float16)})
    dtypes = {v.initializer.dtype for v in back.model.graph.initializers.values() if v.initializer}
    assert dtypes == {DataType.FLOAT}
    assert operators(back.model).count("Cast") == 0
    rounded = WEIGHT.astype(np.float16).astype(np.float32)
    scores = np.maximum(ROWS @ rounded, 0)
    assert str(back.model.graph.inputs[0].type) == "float[N,16]"
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    y = sx.Session(back.model).run({"x": ROWS})["y"]
    np.testing.assert_allclose(y, powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)


def test_the_reverse_removes_casts_at_the_borders() -> None:
    back = quantized(quantized(classifier()).model, "float32")
    assert sorted(operators(back.model)).count("Cast") <= 1, "one that defines an output may stay"
    assert {v.initializer.dtype for v in back.model.graph.initializers.values() if v.initializer} == {
        DataType.FLOAT
    }


def test_values_that_overflow_stay() -> None:
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["N", 16])
    large = b.Mul(x @ WEIGHT, np.float32(3e4), name="large")
    result = quantized(b.model(y=b.Tanh(b.Sqrt(b.Abs(large), name="root"))))
    assert set(reasons(result)) == {"large"} or set(reasons(result)) >= {"large"}
    assert "where float16 ends at 6.55e+04" in reasons(result)["large"]
    assert input_types(result.model, "Abs") == ["float"]
    assert input_types(result.model, "MatMul") == ["float16", "float16"]
    assert np.isfinite(sx.Session(result.model).run({"x": ROWS})["y"]).all()


@pytest.mark.parametrize(
    ("number", "why"),
    [(1e-12, "would become 0"), (1e-6, "is subnormal"), (1e5, "exceeds 6.55e+04")],
)
def test_constants_that_do_not_fit_stay(number: float, why: str) -> None:
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["N", 16])
    model = b.model(y=b.Sigmoid(b.Add(x @ WEIGHT, np.float32(number), name="sum")))
    result = quantized(model)
    assert why in reasons(result)["sum"]
    assert input_types(result.model, "Add") == ["float", "float"]
    fits = quantized(model, "bfloat16")
    assert "sum" not in reasons(fits)


def test_attributes_that_would_become_zero_keep_their_node() -> None:
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["N", 16])
    ones = np.ones(8, np.float32)
    model = b.model(y=b.LayerNormalization(x @ WEIGHT, ones, ones, epsilon=1e-12, name="norm"))
    assert reasons(quantized(model))["norm"] == "its epsilon 1e-12 would become 0 in float16"


def test_small_weights_beside_large_ones_do_fit() -> None:
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["N", 16])
    weight = WEIGHT.copy()
    weight[3, 3] = 1e-9
    assert not quantized(b.model(y=x @ weight)).report.kept


def test_scales_of_resize_stay() -> None:
    b = sx.Builder(opset=19)
    x = b.input("x", "float32", [1, 2, 4, 4])
    scales = np.array([1, 1, 2, 2], np.float32)
    roi = np.array([0, 0, 0, 0, 1, 1, 1, 1], np.float32)
    y = b.Resize(x, roi, scales, mode="linear", coordinate_transformation_mode="tf_crop_and_resize")
    result = quantized(b.model(y=y), data=None)
    assert input_types(result.model, "Resize") == ["float16", "float", "float"]
    assert sx.check(result.model).ok


def test_positions_and_sizes_stay() -> None:
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["N", 16])
    count = b.Cast(b.Shape(x, end=1), to=1)
    half = b.Cast(b.Floor(b.Div(count, np.float32(2), name="halved")), to=7)
    rows = b.Slice(x @ WEIGHT, np.array([0]), half, np.array([0]))
    result = quantized(b.model(y=b.Tanh(rows)))
    assert reasons(result)["halved"] == "it computes with sizes"
    assert input_types(result.model, "Div") == ["float", "float"]
    assert input_types(result.model, "Tanh") == ["float16"]
    many = np.ones((4099, 16), np.float32)
    assert sx.Session(result.model).run({"x": many})["y"].shape == (2049, 8)


CONTROL = """
<ir_version: 8, opset_import: ["": 17]>
main (float[N, 16] x, int64 count) => (float[N, 16] y, float[K, N, 16] states)
<float[1] limit = {0.5}, float[16, 16] w = {WEIGHT}> {
    product = MatMul(x, w)
    yes = Constant <value = bool {1}> ()
    last, states = Loop (count, yes, product) <body = step (int64 i, bool more, float[N, 16] state)
        => (bool again, float[N, 16] next, float[N, 16] kept) {
            sum = Add(state, product)
            next = Tanh(sum)
            kept = Mul(next, limit)
            again = Identity(more)
        }>
    total = ReduceSum <keepdims = 0> (last)
    zero = Constant <value = float {0.0}> ()
    is_large = Greater(total, zero)
    y = If (is_large) <
        then_branch = large () => (float[N, 16] a) { a = Relu(product) },
        else_branch = small () => (float[N, 16] b) { b = Neg(last) }
    >
}
"""


def test_control_flow_changes_with_what_it_captures() -> None:
    weight = (RNG.standard_normal((16, 16)) / 4).astype(np.float32)
    model = sx.from_text(CONTROL.replace("WEIGHT", ", ".join(map(str, weight.ravel().tolist()))))
    feeds = {"x": ROWS, "count": np.array(3)}
    result = quantized(model, data=feeds)
    assert operators(result.model).count("Cast") == 3  # of x, y and states
    typed = sx.infer(result.model.copy())
    assert str(node_of(typed, "Loop").outputs[0].type).startswith("float16")
    assert str(node_of(typed, "Tanh").outputs[0].type).startswith("float16")
    actual, exact = (sx.Session(each).run(feeds) for each in (result.model, model))
    for name in ("y", "states"):
        np.testing.assert_allclose(actual[name], exact[name], rtol=0, atol=2e-2)


def test_a_value_that_overflows_in_a_body_stays() -> None:
    weight = np.eye(16, dtype=np.float32)
    text = CONTROL.replace("WEIGHT", ", ".join(map(str, weight.ravel().tolist())))
    model = sx.from_text(
        text.replace("next = Tanh(sum)", "far = Constant <value = float {9e4}> ()\n next = Mul(sum, far)")
    )
    feeds = {"x": ROWS, "count": np.array(2)}
    result = quantized(model, data=feeds)
    assert str(node_of(sx.infer(result.model.copy()), "Loop").outputs[0].type).startswith("float[")
    assert any("does not fit" in why or "where float16 ends" in why for why in reasons(result).values())
    assert result.report.outputs[0].signal_to_noise > 40


def test_functions_are_inlined() -> None:
    text = """
    <ir_version: 8, opset_import: ["": 17, "local": 1]>
    main (float[N, 16] x) => (float[N, 16] y) { y = local.scaled(x) }
    <domain: "local", opset_import: ["": 17]>
    scaled (a) => (b) { two = Constant <value = float {2.0}> () c = Mul(a, two) b = Tanh(c) }
    """
    result = quantized(sx.from_text(text))
    assert operators(result.model) == ["Cast", "Constant", "Mul", "Tanh", "Cast"]
    np.testing.assert_allclose(
        sx.Session(result.model).run({"x": ROWS})["y"], np.tanh(2 * ROWS), rtol=0, atol=2**-9
    )


def test_types_that_an_attribute_states_change() -> None:
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["N", 16])
    fill = b.ConstantOfShape(b.Shape(x), value=np.array([2], np.float32))
    result = quantized(b.model(y=b.Mul(x, fill) @ WEIGHT))
    value = node_of(result.model, "ConstantOfShape").attributes["value"].value
    assert isinstance(value, sx.Tensor) and value.dtype is DataType.FLOAT16
    np.testing.assert_allclose(
        sx.Session(result.model).run({"x": ROWS})["y"], 2 * ROWS @ WEIGHT, rtol=0, atol=2e-2
    )


def test_no_node_alone_is_between_two_casts() -> None:
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["N", 16])
    y = b.Add(b.Relu(b.Add(x @ WEIGHT, np.float32(1e-12))), np.float32(1e-12))
    result = quantized(b.model(y=b.Tanh(y) @ np.ones((8, 4), np.float32)))
    assert operators(result.model) == [
        "Cast",
        "MatMul",
        "Cast",
        "Add",
        "Relu",
        "Add",
        "Cast",
        "Tanh",
        "MatMul",
        "Cast",
    ]


def test_nodes_return_until_the_bound_holds() -> None:
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["N", 16])
    angles = b.Mul(x @ WEIGHT, np.float32(900), name="angles")
    model = b.model(y=b.Sin(angles, name="sine"), z=b.Tanh(b.Relu(x @ WEIGHT, name="relu"), name="other"))
    result = quantized(model)
    assert all(output.signal_to_noise >= 40 for output in result.report.outputs)
    assert reasons(result)["sine"] == "the outputs would not be within 40 dB"
    assert "other" in [layer.layer for layer in result.report.layers]
    coarse = quantized(model, bound=-10.0)
    assert len(coarse.report.layers) > len(result.report.layers)


def test_an_output_beyond_the_bound_is_named() -> None:
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["N", 16])
    result = quantized(b.model(y=b.Sin(b.Mul(x, np.float32(3000)))), keep_types=False)
    assert ("y", "this output is not within the bound") in [(k.layer, k.why) for k in result.report.kept]
    assert result.report.layers, "float32 inside would not help, since the input is rounded"


def test_patterns_choose_nodes() -> None:
    b = sx.Builder(opset=17)
    x = b.input("x", "float32", ["N", 16])
    model = b.model(y=b.Tanh(b.MatMul(x, WEIGHT, name="product"), name="last"))
    result = quantized(model, exclude=["last"])
    assert reasons(result) == {"last": "it is excluded"}
    assert input_types(result.model, "Tanh") == ["float"]


def test_options_belong_to_schemes() -> None:
    with pytest.raises(InputError, match="keep_types must be None for the scheme 'int4'; got False"):
        sx.quantize(classifier(), "int4", keep_types=False)
