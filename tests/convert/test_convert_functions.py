"""Conversion of functions, independent of what single calls pass."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import only, parse_model
from sardonyx._src.convert.conversion import convert
from sardonyx._src.convert.partial_conversion import convert_partially
from sardonyx._src.errors import ConversionError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Model
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.text import from_text

MY = '"my": 1'


def shapes(actual: Model, **feeds: object) -> list[tuple[int, ...]]:
    arrays = {name: np.asarray(value) for name, value in feeds.items()}
    return [np.asarray(result).shape for result in Interpreter(actual).run(arrays).values()]


@pytest.mark.parametrize("last", ["{0}", "{2}"])
def test_what_the_last_call_gives_need_not_hold_in_the_others(last: str) -> None:
    text = f"""g (float[1,6,1] x) => (float[N,M] y, float[K,L] z) <int64[1] a = {{2}}, int64[1] b = {last}> {{
      y = my.f(x, a)  z = my.f(x, b)
    }}
    <opset_import: ["": 13], domain: "my"> f (p, axes) => (q) {{ q = Squeeze(p, axes) }}"""
    with pytest.raises(ConversionError, match=r"axes \('axes'\) must be constant"):
        convert(parse_model(text, opset=13, more=MY), 11)


def test_constants_of_the_function_itself_hold_in_every_call() -> None:
    text = """g (float[1,6,1] x) => (float[N,M] y) { y = my.f(x) }
    <opset_import: ["": 13], domain: "my"> f (p) => (q) {
      one = Constant<value = int32[1] {1}>()  wide = Cast<to = 7>(one)  axes = Add(wide, wide)  q = Squeeze(p, axes)
    }"""
    converted = convert(parse_model(text, opset=13, more=MY), 11)
    body = converted.functions["my", "f", ""].body
    assert only(body, "Squeeze").attributes["axes"].value == (2,)


def test_results_of_calls_are_distinguished() -> None:
    text = """g (float[1,6,1] x) => (float[N,M] y, float[K,L] z) <int64[1] a = {-1}, int64[1] b = {1}> {
      c = my.f(a)  d = my.f(b)  y = Squeeze(x, c)  z = Squeeze(x, d)
    }
    <opset_import: ["": 13], domain: "my"> f (p) => (q) { one = Constant<value = int64[1] {1}>()  q = Add(p, one) }"""
    converted = convert(parse_model(text, opset=13, more=MY), 11)
    assert shapes(converted, x=np.zeros((1, 6, 1), np.float32)) == [(6, 1), (1, 6)]


@pytest.mark.parametrize(
    ("node", "start", "target"), [("Cast<to: int = @n>(p)", 13, 19), ("Concat<axis: int = @n>(p, p)", 11, 13)]
)
def test_a_required_attribute_may_be_a_parameter(node: str, start: int, target: int) -> None:
    text = f"""g (float[1,2] x) => (float[N,M] y) {{ y = my.f<n = 1>(x) }}
    <opset_import: ["": {start}], domain: "my"> f <n> (p) => (q) {{ q = {node} }}"""
    converted = convert(parse_model(text, opset=start, more=MY), target)
    assert converted.functions["my", "f", ""].opset_imports == {"": target}
    assert shapes(converted, x=np.zeros((1, 2), np.float32))[0][0] == 1


@pytest.mark.parametrize(
    ("text", "start", "target", "hidden"),
    [
        ("y = Softmax<axis = 0>(x) z = Flatten(x)", 11, 13, "Flatten"),
        ("y = Gelu(x) z = Erf(x)", 20, 19, "Erf"),
        ("y = Upsample<scales = [1.0, 2.0]>(x) z = Resize(x)", 7, 11, "Resize"),
    ],
)
def test_an_operator_that_a_function_hides_is_not_put_in(
    text: str, start: int, target: int, hidden: str
) -> None:
    whole = f"""g (float[1,2] x) => (float[N,M] y, float[1,2] z) {{ {text} }}
    <opset_import: ["": {start}], domain: ""> {hidden} (p) => (q) {{ q = Neg(p) }}"""
    with pytest.raises(
        ConversionError, match=f"{hidden}, which the conversion needs, is shadowed by a function"
    ):
        convert(parse_model(whole, opset=start), target)


def test_what_training_writes_to_is_no_constant() -> None:
    record = from_text(
        """<ir_version: 8, opset_import: ["": 13]>
        g (float[1,1,2] x) => (float[1,2] y) <int64[1] axes = {0}> { y = Squeeze(x, axes) }""",
        m.ModelProto,
    )
    step = "a () => (int64[1] next) { one = Constant<value = int64[1] {1}>()  next = Sub(one, axes) }"
    binding = m.StringStringEntryProto(key="axes", value="next")
    record.training_info = [
        m.TrainingInfoProto(algorithm=from_text(step, m.GraphProto), update_binding=[binding])
    ]
    with pytest.raises(ConversionError, match="must be constant, as it is an attribute"):
        convert(sx.load(record), 11)
    record.training_info = []
    assert convert(sx.load(record), 11).opset_imports == {"": 11}


@pytest.mark.parametrize(
    ("node", "opset", "target"),
    [
        ("Selu<alpha: float = @p>(x)", 1, 6),  # 1.6732 becomes 1.6732632
        ("Celu<alpha: float = @p>(x)", 12, 11),  # its body has a default for alpha
        ("Hardmax<axis: int = @p>(x)", 11, 13),
    ],
)
def test_a_parameter_that_calls_may_omit_is_refused_where_defaults_differ(
    node: str, opset: int, target: int
) -> None:
    text = f"""g (float[2,3] x) => (float[2,3] y) {{ y = my.f(x) }}
    <opset_import: ["": {opset}], domain: "my"> f <p> (x) => (y) {{ y = {node} }}"""
    with pytest.raises(ConversionError, match="is a parameter of the function; inline the function first"):
        convert(parse_model(text, opset=opset, more='"my": 1'), target)


def test_an_outlined_node_forwards_a_parameter_that_calls_may_omit() -> None:
    text = """g (float[2] x) => (float[2] y) { y = my.f(x) }
    <opset_import: ["": 12], domain: "my"> f <p> (x) => (y) { y = Celu<alpha: float = @p>(x) }"""
    model = parse_model(text, opset=12, more='"my": 1')
    conversion = convert_partially(model, 11)
    converted, errors = conversion.model, conversion.errors
    assert [error.op_type for error in errors] == ["Celu"]
    (y,) = Interpreter(converted).run({"x": np.array([-1, 2], np.float32)}).values()
    np.testing.assert_allclose(np.asarray(y), [np.expm1(-1), 2], rtol=1e-6)  # alpha is 1
