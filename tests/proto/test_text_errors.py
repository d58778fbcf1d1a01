"""Invalid text: errors name line and column, the expected and the actual token; limits are enforced."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proto.strategies import strings
from sardonyx._src.errors import LimitError, TextError
from sardonyx._src.proto.messages import (
    AttributeProto,
    GraphProto,
    MapProto,
    ModelProto,
    NodeProto,
    SequenceProto,
    TensorProto,
    TypeProto,
)
from sardonyx._src.proto.record import Record
from sardonyx._src.proto.text import from_text, to_text
from sardonyx._src.proto.wire import Limits


@pytest.mark.parametrize(
    ("message", "text", "error"),
    [
        (ModelProto, "", "1:1: expected a graph, got the end of the text"),
        (
            ModelProto,
            "g (handle x) => () {}",
            "1:4: the type of a value must be one of onnx.proto; got `handle`, which only the first edition",
        ),
        (
            ModelProto,
            "g (handle[2] x) => () {}",
            "1:4: the type of a value must be one of onnx.proto; got `handle`",
        ),
        (
            ModelProto,
            "<ir: 3> g () => () {}",
            "1:2: a field of ModelProto must be one of ir_version, producer_name",
        ),
        (
            ModelProto,
            "<graph: g> g",
            "1:2: `graph` must be written in the notation of a ModelProto; got it as a field",
        ),
        (
            ModelProto,
            "<ir_version: 3, ir_version: 4>",
            "1:17: `ir_version` of this ModelProto is already set",
        ),
        (ModelProto, '<opset_import: [":": "x"]>', "1:22: expected an opset"),
        (GraphProto, "g (float x) {}", "1:13: expected `=>` after the graph's inputs, got `{`"),
        (
            GraphProto,
            "g () => () {\n  y = F(x)",
            "2:11: expected a node, or `}` after the nodes of the graph",
        ),
        (GraphProto, "g () => () {y = F(x), z = G(x)}", "1:21: expected a node, got `,`"),
        (GraphProto, "g (x = {1}) => () {}", "1:4: a value with data must have a type; got only a name"),
        (
            GraphProto,
            "g () => () <float x @{} = {1}> {}",
            "1:25: the `@{…}` of an initializer must follow its data",
        ),
        (NodeProto, "y F(x)", "1:3: expected `,` or `=` after an output of the node, got `F`"),
        (
            NodeProto,
            "y = F(x",
            "1:8: expected `,` or `)` after an input of the node, got the end of the text",
        ),
        (NodeProto, "y = F<>(x)", "1:7: expected an attribute, got `>`"),
        (NodeProto, "y = F(x) z", "1:10: expected the end of the text after the NodeProto, got `z`"),
        (NodeProto, "y = F(x) @{input: []}", "1:12: `input` of this NodeProto is already set"),
        (NodeProto, 'y = F("x)', "1:7: a string must have a closing quote"),
        (NodeProto, 'y = F("\\n")', "1:7: an escape must be"),
        (NodeProto, 'y = F("\\xff")', '1:7: `\\xff` is an escape only in a string of the form `b"…"`'),
        (NodeProto, 'y = F("\ud800")', "1:7: 'utf-8' codec can't encode character"),
        (
            NodeProto,
            "# é\n  y = F(é)",
            "2:9: expected a name, number, string or sign, got 'é'; quote names",
        ),
        (AttributeProto, "a: whole = 1", "1:4: expected one of the attribute types undefined, float, int"),
        (AttributeProto, "a: int = 1.5", "1:10: expected a value of type `int`, got `1.5`"),
        (
            AttributeProto,
            "a: int = [1]",
            "1:11: the value of an attribute of type `int` must be a single value; got a list",
        ),
        (AttributeProto, "a: ints = 1", "1:11: expected a value of type `ints`, got `1`"),
        (
            AttributeProto,
            "a = []",
            "1:6: an empty list must have a type; got none; write it as in `: ints = []`",
        ),
        (AttributeProto, "a = [1, 2.5]", "1:9: expected an integer, got `2.5`"),
        (AttributeProto, 'a = ["b",\n 1]', "2:2: expected a value of type `string`, got `1`"),
        (AttributeProto, "a = {}", "1:5: a value in `{…}` must have a type"),
        (
            AttributeProto,
            "a = 1e39",
            "1:5: a float must be at most 3.4028234663852886e+38; got 1e39",
        ),
        (
            AttributeProto,
            "a = 9223372036854775808",
            "1:5: int64 must be from -92",
        ),
        (
            AttributeProto,
            "a = " + "9" * 9999,
            "1:5: int64 must be from -9223372036854775808 to 9223372036854775807; got 9999999999999999999999999999999999999999",
        ),
        (
            AttributeProto,
            "a = [1,\n 2, 9223372036854775808]",
            "2:5: int64 must be from -9223372036854775808 to 9223372036854775807; got 9223372036854775808",
        ),
        (
            AttributeProto,
            "a: tensor = float",
            "1:13: the value must be of type `tensor`; got a type without data",
        ),
        (
            AttributeProto,
            "a: undefined = 1",
            "1:16: an attribute with a value must have a defined type; got type 0",
        ),
        (AttributeProto, "a @{i: 3} = 4", "1:13: `i` of the attribute `a` must be set once"),
        (TensorProto, "float[N] {1}", "1:1: the dimensions of a tensor must be numbers"),
        (TensorProto, "float[] {1}", "1:1: a tensor must have dimensions"),
        (TensorProto, "seq(float) {1}", "1:1: the type of a tensor must be a tensor type without denotation"),
        (TensorProto, "float[2] = 3", "1:12: expected the tensor's data, as `{…}`, got `3`"),
        (TensorProto, "float {1 2}", "1:10: expected `,` or `}`"),
        (
            TensorProto,
            "float16 {1.5}",
            "1:10: expected an integer as element of the tensor, the bit pattern of a float16; numbers are written with `raw_",
        ),
        (TensorProto, "int8 {1.5}", "1:7: expected an integer as element of the tensor, got `1.5`"),
        (TensorProto, "float[3] {1.0, ...}", "1:16: data must be complete; got `...`"),
        (TensorProto, "float {nan(0x1)}", "1:8: the bits must be those of a 32-bit NaN; got nan(0x1)"),
        (TensorProto, "int8 raw_data: {300}", "1:17: int8 must be from -128 to 127; got 300"),
        (TensorProto, "int8[2] raw_data: {3}", "1:20: raw data of int8[2] must have 2 numbers; got 1"),
        (TensorProto, "float16[2] raw_data: {1.0,\n 1e9}", "2:2: an element must fit in float16; got 1e9"),
        (TensorProto, "float4e2m1 raw_data: {7.0}", "1:23: an element must fit in float4e2m1; got 7.0"),
        (TensorProto, "float8e8m0 raw_data: {0.0}", "1:23: an element must fit in float8e8m0; got 0.0"),
        (TensorProto, 'float raw_data: base64 "a"', "1:24: the string must be base64"),
        (TensorProto, 'float raw_data: hex "abc"', "1:21: the string must be hex"),
        (TypeProto, "float[2", "1:8: expected `,` or `]` after a dimension, got the end of the text"),
        (TypeProto, "flat", "1:1: expected a type, got `flat`"),
        (TypeProto, "map(float)", "1:10: expected `,` after the key type of `map(`, got `)`"),
        (
            TypeProto,
            "{tensor_type: {}, map_type: {}}",
            "1:19: `tensor_type` of this TypeProto is already set, which excludes `map_",
        ),
        (SequenceProto, "{elem_type: TENSER}", "1:13: expected one of UNDEFINED, TENSOR, SPARSE_TENSOR"),
        (SequenceProto, "3", "1:1: expected `{` of a SequenceProto, got `3`"),
        (MapProto, "{keys: 3}", "1:8: expected `[` of the list `keys`, got `3`"),
    ],
)
def test_errors_say_where_and_what(message: type[Record], text: str, error: str) -> None:
    with pytest.raises(TextError, match="^" + re.escape(error)):
        from_text(text, message)


def test_errors_name_the_source_and_carry_the_position() -> None:
    with pytest.raises(TextError) as caught:
        from_text("<ir_version: 3>\n  g => ()", source="m.onnxtxt")
    assert str(caught.value) == "m.onnxtxt:2:5: expected `(` before the graph's inputs, got `=>`"
    assert (caught.value.line, caught.value.column, caught.value.source) == (2, 5, "m.onnxtxt")


def nested_graph(depth: int) -> GraphProto:
    graph = GraphProto(name="g")
    for _ in range(depth - 1):
        body = AttributeProto(name="body", type=5, g=graph)
        graph = GraphProto(name="g", node=[NodeProto(op_type="Loop", attribute=[body])])
    return graph


def test_graphs_may_be_nested_128_levels_deep() -> None:
    graph = nested_graph(128)
    assert from_text(to_text(graph), GraphProto) == graph
    with pytest.raises(LimitError, match="messages must be nested at most 128 levels deep") as caught:
        from_text(to_text(nested_graph(129)), GraphProto)
    assert caught.value.limit == "nesting"


def test_the_limit_of_nesting_counts_all_messages_that_can_hold_their_own_kind() -> None:
    few = Limits(nesting=3)
    for text, message in (
        ("seq(seq(seq(float)))", TypeProto),
        ("{sequence_values: [" * 4, SequenceProto),
        ("{values: {map_values: [" * 4, MapProto),
    ):
        with pytest.raises(LimitError, match="nested at most 3 levels"):
            from_text(text, message, limits=few)
    assert from_text("seq(seq(float))", TypeProto, limits=few).sequence_type is not None


def test_what_is_nested_deeper_than_the_stack_is_a_limit_not_a_crash() -> None:
    with pytest.raises(LimitError, match="Python's stack"):
        from_text("seq(" * 9999, TypeProto, limits=Limits(nesting=99999))
    with pytest.raises(LimitError, match="Python's stack"):
        to_text(nested_graph(2000))


def test_the_limit_of_size_counts_characters() -> None:
    with pytest.raises(LimitError, match="the text must have at most 4 characters; got 5"):
        from_text("float", TypeProto, limits=Limits(size=4))


TEXT = """<ir_version: 10, opset_import: ["": 18, 3]>
g @{doc_string: "d"} (float[N, 3 @{denotation: "x"}] x, seq(map(int64, string[])) s, ? q) => (y) <
  float[2] w = raw_data: {1.0, nan}, int4[3] v = {1, 2} @{segment: {begin: 1}}, float z
> {
  [n] y, "" = a.b.F:o<a = 1, b = [1.5, -inf], c: ints = [], g: int = @h, i @{i: 3}>(x, "")
  = .If(x) <then_branch = t () => () { z = Neg(x) }> @{unknown: [hex "9a060161"]}
}
<domain: "my"> f <a, b: int = 3> (float x, y) => (float z) <float w> { z = Add(x, y) }"""
TOKENS = re.findall(r'\s+|\w+|"[^"]*"|=>|@\{|.', TEXT)


@given(st.integers(0, len(TOKENS) - 1), st.one_of(st.just(""), st.sampled_from(TOKENS), strings))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_a_token_changed_gives_a_model_or_an_error_of_text(place: int, token: str) -> None:
    try:
        model = from_text("".join([*TOKENS[:place], token, *TOKENS[place + 1 :]]))
    except TextError:
        return
    assert from_text(to_text(model)) == model
