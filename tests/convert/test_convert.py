"""Conversion of models to other opset and IR versions."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import only, parse_model, parse_record
from sardonyx._src.convert.conversion import convert
from sardonyx._src.convert.partial_conversion import convert_partially
from sardonyx._src.errors import ConversionError, InputError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array, Model
from sardonyx._src.ir.verify import verify
from sardonyx._src.ir.walk import nodes

SOFTMAX = "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax<axis = 1>(x) }"


def run(actual: Model, **feeds: object) -> list[Array]:
    arrays = {name: np.asarray(value) for name, value in feeds.items()}
    return [np.asarray(result) for result in Interpreter(actual).run(arrays).values()]


def op_types(result: Model) -> list[str]:
    return [node.op_type for node in nodes(result.graph)]


def test_the_argument_stays_as_it_is() -> None:
    original = parse_model(SOFTMAX, opset=11)
    text = sx.to_text(original)
    converted = convert(original, 13)
    assert sx.to_text(original) == text
    assert converted.opset_imports == {"": 13}


def test_a_changed_meaning_is_decomposed() -> None:
    x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 3, 4)
    original = parse_model(SOFTMAX, opset=11)
    converted = convert(original, 13)
    assert op_types(converted) == ["Flatten", "Softmax", "Shape", "Reshape"]
    weights = np.exp(x.reshape(2, 12))
    expected = (weights / weights.sum(1, keepdims=True)).reshape(2, 3, 4)
    np.testing.assert_allclose(run(converted, x=x)[0], expected, 1e-6)


def test_attributes_become_inputs_and_come_back() -> None:
    up = convert(parse_model("g (float[1,2] x) => (float[2] y) { y = Squeeze<axes = [0]>(x) }", opset=11), 28)
    assert op_types(up) == ["Constant", "Squeeze"]
    down = convert(up, 11)
    assert only(down.graph, "Squeeze").attributes["axes"].value == (0,)


def test_an_input_that_is_not_constant_is_refused_with_its_name() -> None:
    text = "g (float[1,2] x, int64[1] which) => (float[2] y) { y = Squeeze(x, which) }"
    with pytest.raises(ConversionError) as caught:
        convert(parse_model(text, opset=13), 11)
    assert str(caught.value) == (
        "node[0] (Squeeze): Squeeze-13 cannot be expressed in ai.onnx 12: "
        "axes ('which') must be constant, as it is an attribute in the target version"
    )
    assert (caught.value.op_type, caught.value.version, caught.value.target) == ("Squeeze", 13, 12)


def test_an_initializer_that_a_feed_may_replace_is_not_constant() -> None:
    text = "g (float[1,2] x, int64[1] axes = {0}) => (float[2] y) { y = Squeeze(x, axes) }"
    with pytest.raises(ConversionError, match="must be constant, as it is an attribute"):
        convert(parse_model(text, opset=13), 11)
    remaining = text.replace(", int64[1] axes = {0})", ")").replace(
        "(float[2] y)", "(float[2] y) <int64[1] axes = {0}>"
    )
    assert op_types(convert(parse_model(remaining, opset=13), 11)) == ["Squeeze"]


def test_a_body_replaces_an_operator_that_is_not_there_yet() -> None:
    text = "g (float[N] x) => (float[N] y) { y = Gelu(x) }"
    down = convert(parse_model(text, opset=20), 19)
    assert "Gelu" not in op_types(down)
    x = np.array([-1, 0, 2], np.float32)
    erf = np.array([-0.6826895, 0, 0.9544997])
    np.testing.assert_allclose(run(down, x=x)[0], 0.5 * x * (1 + erf), 1e-6)


def test_an_element_type_that_the_version_lacks_is_refused() -> None:
    text = "g (bfloat16[2] x) => (bfloat16[2] y) { y = Identity(x) }"
    with pytest.raises(ConversionError, match=r"input 'input' of Identity is bfloat16\[2\]"):
        convert(parse_model(text, opset=13), 12)


def test_subgraphs_functions_and_training_graphs_are_converted() -> None:
    text = """g (float[1,2] x, bool c) => (float[2] y) {
      y = If (c) <then_branch = t () => (float[2] a) { a = Squeeze<axes = [0]>(x) },
                  else_branch = e () => (float[2] b) { b = my.f(x) }>
    }
    <opset_import: ["": 11], domain: "my"> f (p) => (q) { q = Squeeze<axes = [0]>(p) }"""
    original = parse_model(text, opset=11, more='"my": 1')
    converted = convert(original, 13)
    verify(converted)
    assert op_types(converted).count("Constant") == 1
    assert converted.functions["my", "f", ""].opset_imports == {"": 13}
    x = np.array([[3, 4]], np.float32)
    for c in (True, False):
        assert run(converted, x=x, c=c)[0].tolist() == [3, 4]


def test_names_words_and_weights_are_kept() -> None:
    text = """g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}> {
      [first] h = Add(x, w)
      [second] y = Softmax<axis = -1>(h)
    }"""
    original = parse_model(text, opset=11)
    original.metadata["a"] = "b"
    original.doc, original.graph.doc = "about the model", "about the graph"
    only(original.graph, "Softmax").doc = "about the node"
    only(original.graph, "Softmax").metadata["who"] = "me"
    converted = convert(original, 28)
    assert [n.name for n in converted.graph.nodes] == ["first", "second"]
    assert (converted.doc, converted.graph.doc, converted.metadata) == (
        "about the model",
        "about the graph",
        {"a": "b"},
    )
    softmax = only(converted.graph, "Softmax")
    assert (softmax.doc, softmax.metadata) == ("about the node", {"who": "me"})
    assert converted.graph.initializers["w"].initializer is original.graph.initializers["w"].initializer


def test_a_reference_to_a_parameter_remains_an_input() -> None:
    text = """g (float[1,2] x) => (float[2] y) { y = my.f<axes = [0]>(x) }
    <opset_import: ["": 12], domain: "my"> f <axes: ints = [0]> (p) => (q) { q = Squeeze<axes: ints = @axes>(p) }"""
    converted = convert(parse_model(text, opset=12, more='"my": 1'), 13)
    assert run(converted, x=np.array([[3, 4]], np.float32))[0].tolist() == [3, 4]


def test_a_reference_that_decides_is_refused() -> None:
    text = """g (float[1,2] x) => (float[1,2] y) { y = my.f<axis = 1>(x) }
    <opset_import: ["": 12], domain: "my"> f <axis> (p) => (q) { q = Softmax<axis: int = @axis>(p) }"""
    with pytest.raises(ConversionError, match="is a parameter of the function; inline the function first"):
        convert(parse_model(text, opset=12, more='"my": 1'), 13)


def test_what_cannot_be_expressed_is_outlined_and_computes_the_same() -> None:
    text = "g (bfloat16[2] x, float[2] z) => (bfloat16[2] y, float[2] w) { y = Identity(x) w = Relu(z) }"
    conversion = convert_partially(parse_model(text, opset=14), 12)
    converted, errors = conversion.model, conversion.errors
    verify(converted)
    assert [e.op_type for e in errors] == ["Identity"]
    assert converted.opset_imports[""] == 12
    assert op_types(converted) == ["Identity_0", "Relu"]
    (function,) = converted.functions.values()
    assert function.opset_imports == {"": 13}
    assert np.asarray(
        run(converted, x=np.ones(2, sx.DataType.BFLOAT16.numpy), z=np.ones(2, np.float32))[0]
    ).tolist() == [1, 1]


def test_constants_before_version_9_are_initializers() -> None:
    text = "g (float[2,3] x) => (float[6] y) { s = Constant<value = int64[1] {-1}>() y = Reshape(x, s) }"
    converted = convert(parse_model(text, opset=9), 8)
    assert [v.name for v in converted.graph.initializers.values()] != []
    assert run(converted, x=np.zeros((2, 3), np.float32))[0].shape == (6,)


@pytest.mark.parametrize(
    ("sets", "why"), [({"": 99}, "must be in 1 to 29"), ({"my": 1}, "an operator set must be one of")]
)
def test_versions_that_do_not_exist(sets: dict[str, int], why: str) -> None:
    with pytest.raises(InputError, match=why):
        convert(parse_model(SOFTMAX), sets=sets)


def test_a_set_that_is_not_imported_cannot_be_converted() -> None:
    with pytest.raises(InputError, match=r"the model must import ai\.onnx\.ml; its imports are ai\.onnx"):
        convert(parse_model(SOFTMAX), sets={"ai.onnx.ml": 3})


# --- IR versions -----------------------------------------------------------------------------


def test_the_ir_version_follows_what_is_used() -> None:
    original = parse_model("g (float[2] x) => (float[2] y) { y = Relu(x) }", opset=13, ir=10)
    assert convert(original, 14).ir_version == 10
    assert convert(original, ir_version="auto").ir_version == 3
    assert convert(original, ir_version=8).ir_version == 8
    original.metadata["k"] = "v"
    only(original.graph, "Relu").metadata["k"] = "v"
    assert convert(original, ir_version="auto").ir_version == 10


def test_what_a_lower_ir_version_cannot_express_is_named() -> None:
    text = """g (float[2] x) => (float[2] y) { y = my.f(x) }
    <opset_import: ["": 21], domain: "my"> f (p) => (q) { q = Relu(p) }"""
    with pytest.raises(ConversionError, match=r"my\.f: functions need IR version >= 8; got 7"):
        convert(parse_model(text, more='"my": 1'), ir_version=7)


def test_up_to_ir_3_initializers_are_inputs() -> None:
    text = "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }"
    converted = convert(parse_model(text, opset=8), ir_version=3)
    assert [v.name for v in converted.graph.inputs] == ["x", "w"]


def test_a_raised_set_raises_the_ir_version_where_types_need_it() -> None:
    original = sx.load(
        parse_record("g (float[2] x) => (float[2] y) { a = Cast<to = 22>(x) y = Cast<to = 1>(a) }", ir=10)
    )
    original.ir_version = 9
    original.graph.nodes[0].outputs[0].type = sx.Builder.tensor(sx.DataType.INT4, [2])
    assert convert(original, 22).ir_version == 10
