"""The builder: types at each call, literals, outputs, and models that checkers accept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import sardonyx as sx
from builder.validity import assert_valid
from sardonyx._src.ir import SequenceType, TensorType
from sardonyx._src.ir.dims import symbol

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 4)).astype(np.float32)


@pytest.fixture
def b() -> sx.Builder:
    return sx.Builder(opset=21)


def run(model: sx.Model, **feeds: object) -> list[Any]:
    return list(sx.Session(model, engine="reference").run(feeds).values())


def test_a_model_without_further_calls_is_valid(b: sx.Builder) -> None:
    x = b.input("x", "float32", ["N", 4])
    hidden = b.Relu(x @ np.ones((4, 3), np.float32) + 1)
    model = b.model(y=b.Softmax(hidden, axis=-1))
    assert_valid(model)
    assert model.graph.outputs[0].type == TensorType(sx.DataType.FLOAT, (symbol("N"), 3))
    np.testing.assert_allclose(np.sum(run(model, x=X)[0], axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize(
    "dtype", ["float32", "float", np.float32, np.dtype(np.float32), sx.DataType.FLOAT], ids=str
)
def test_element_types_have_several_spellings(b: sx.Builder, dtype: object) -> None:
    assert b.input("x", dtype, [2]).dtype is sx.DataType.FLOAT  # type: ignore[arg-type]
    assert b.Cast(np.zeros(2), to=dtype).dtype is sx.DataType.FLOAT  # type: ignore[arg-type]


def test_numbers_take_the_type_of_the_other_operand(b: sx.Builder) -> None:
    x = b.input("x", np.float16, [2])
    i = b.input("i", np.int32, [2])
    assert [(x + 1).dtype, (1.5 * x).dtype, (i - 1).dtype] == [
        sx.DataType.FLOAT16,
        sx.DataType.FLOAT16,
        sx.DataType.INT32,
    ]
    assert b.Reshape(x, [1, 2]).shape == (1, 2)
    assert b.Add(1, 2).dtype is sx.DataType.INT64
    assert b.Add(1.0, 2.0).dtype is sx.DataType.FLOAT


def test_equal_small_literals_are_one_constant(b: sx.Builder) -> None:
    x = b.input("x", "float32", [2])
    model = b.model(y=(x + 1) * 1 + np.float32(1))
    assert len(model.graph.initializers) == 1


def test_calls_with_several_outputs_return_them(b: sx.Builder) -> None:
    x = b.input("x", "float32", [2, 6])
    values, indices = b.TopK(x, [3])
    assert (values.shape, indices.dtype) == ((2, 3), sx.DataType.INT64)
    parts = b.Split(x, axis=1, num_outputs=3)
    assert [p.shape for p in parts] == [(2, 2)] * 3
    first, second = b.Split(x, [2, 4], axis=1)
    assert (first.shape, second.shape) == ((2, 2), (2, 4))
    y, missing, c = b.op("LSTM", x[None], np.zeros((1, 8, 6), np.float32), np.zeros((1, 8, 2), np.float32),
                         outputs=["y", "", "c"], hidden_size=2)  # fmt: skip
    assert (y.shape, c.shape) == ((1, 1, 2, 2), (1, 2, 2))
    assert missing is None


def test_outputs_are_operands_inputs_and_constants(b: sx.Builder) -> None:
    x = b.input("x", "float32", [2])
    y = x + 1
    model = b.model(a=x, b=y, c=y, d=np.ones(3, np.float32))
    assert_valid(model)
    results = sx.Session(model).run({"x": X[:, 0]})
    np.testing.assert_array_equal(results["a"], X[:, 0])
    np.testing.assert_array_equal(results["b"], results["c"])
    np.testing.assert_array_equal(results["d"], 1)


def test_sequences_are_inputs(b: sx.Builder) -> None:
    s = b.input("s", SequenceType(TensorType(sx.DataType.FLOAT, (symbol("N"),))))
    model = b.model(y=b.ConcatFromSequence(s, axis=0))
    np.testing.assert_array_equal(run(model, s=[X[0], X[1]])[0], X.reshape(-1))


def test_domains_are_imported_at_their_first_call(b: sx.Builder) -> None:
    x = b.input("x", "float32", ["N", 4])
    y = b.domain("ai.onnx.ml").Normalizer(x, norm="L2")
    z = b.op("Gelu", y, domain="com.microsoft")
    model = b.model(z=z)
    assert (model.opset_imports["ai.onnx.ml"], model.opset_imports["com.microsoft"]) == (5, 1)
    assert z.dtype is sx.DataType.FLOAT


def test_operators_without_signature_need_a_declared_type(b: sx.Builder) -> None:
    y = b.op("Custom", b.input("x", "float32", [2]), domain="my.own", alpha=1.5)
    assert y.type is None
    with pytest.raises(sx.InputError, match="must have a type"):
        b.model(y=y)


def test_the_ir_version_is_what_the_model_needs() -> None:
    b = sx.Builder(opset=21)
    assert b.model(y=b.input("x", "float32", [1]) + 1).ir_version == 10
    b = sx.Builder(opset=25)
    assert b.model(y=b.Cast(b.input("x", "float32", [1]), to="float4e2m1")).ir_version >= 11


def test_a_constant_is_computed_on_request(b: sx.Builder) -> None:
    x = b.input("x", "float32", ["N", 4], example=X)
    unknown = b.input("z", "float32", [])
    np.testing.assert_array_equal((b.constant("c", [1.0, 2.0]) * 2).numpy(), [2, 4])
    np.testing.assert_allclose(b.ReduceSum(x, [1], keepdims=0).numpy(), X.sum(1), rtol=1e-6)
    with pytest.raises(sx.InputError, match=r"'z'.*must have an example"):
        (x + unknown).numpy()


Mistake = Callable[[sx.Builder, sx.Operand], object]
MISTAKES: dict[str, tuple[Mistake, type[Exception], str]] = {
    "operator": (lambda b, x: b.op("Rellu", x), sx.InputError, "did you mean 'Relu'"),
    "method": (lambda b, x: getattr(b, "Rellu")(x), AttributeError, "did you mean 'Relu'"),  # noqa: B009
    "version": (lambda b, x: b.op("Swish", x), sx.InputError, "begins with version 24"),
    "arity": (lambda b, x: b.op("Add", x), sx.InputError, "Add must have 2 inputs; got 1"),
    "required": (lambda b, x: b.op("MatMul", x, None), sx.InputError, "'B' of MatMul is required"),
    "attribute": (lambda b, x: b.op("Softmax", x, axes=1), sx.InputError, "did you mean 'axis'"),
    "attribute-type": (lambda b, x: b.op("Softmax", x, axis="1"), sx.InputError, "must be INT; got '1'"),
    "attribute-value": (lambda b, x: b.op("Gelu", x, approximate="erf"), sx.InputError, "none, tanh"),
    "attribute-missing": (lambda b, x: b.op("Cast", x), sx.InputError, "must have the attribute 'to'"),
    "element-type": (lambda b, x: x + np.zeros(4), sx.InferenceError, "must have the type of 'A'"),
    "literal": (lambda b, x: b.Reshape(x, 1.5), sx.InputError, "'shape' of Reshape must be int64; got 1.5"),
    "sizes": (lambda b, x: x @ np.zeros((3, 2), np.float32), sx.InferenceError, "MatMul"),
    "broadcast": (lambda b, x: x + np.zeros(3, np.float32), sx.InferenceError, "Add"),
    "axis": (lambda b, x: b.Softmax(x, axis=2), sx.InferenceError, "axis 2 lies outside of rank 2"),
    "outputs": (lambda b, x: b.op("Relu", x, outputs=2), sx.InputError, "Relu must have 1 output; got 2"),
    "name": (lambda b, x: b.constant("x", 1), sx.InputError, "there is another 'x'"),
    "second-input": (lambda b, x: b.input("x", "float32"), sx.InputError, "there is another 'x'"),
    "division": (lambda b, x: b.Shape(x) / 2, sx.InputError, "operands of / must be floats"),
    "truth": (lambda b, x: bool(x > 0), TypeError, "not known before the model runs"),
    "index": (lambda b, x: x[1, 2, 3], sx.InputError, "at most 2 axes"),
    "mask": (lambda b, x: x[x > 0], sx.InputError, "must not be a mask"),
    "dtype": (lambda b, x: b.input("z", "flot32"), sx.InputError, "float"),
    "no-outputs": (lambda b, x: b.model(), sx.InputError, "must have an output"),
    "other-builder": (lambda b, x: sx.Builder(21).Relu(x), sx.InputError, "belongs to another graph"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_refused_at_their_call(b: sx.Builder, name: str) -> None:
    x = b.input("x", "float32", ["N", 4])
    kept = b.Relu(x)
    call, error, text = MISTAKES[name]
    before = [node.op_type for node in b.graph.nodes]
    with pytest.raises(error, match=text):
        call(b, x)
    if name not in ("division", "truth", "mask"):  # these compute their operand first
        assert [node.op_type for node in b.graph.nodes] == before
    assert_valid(b.model(y=kept))


@pytest.mark.parametrize("role", ["default", "example"])
@pytest.mark.parametrize("value", ["text", np.zeros(2), np.zeros((1, 2), np.float32), [1e300]], ids=str)
def test_defaults_and_examples_have_the_type_of_their_input(b: sx.Builder, role: str, value: object) -> None:
    with pytest.raises(sx.InputError, match=f"the {role} of 'x'"):
        b.input("x", "float32", [2], **{role: value})
