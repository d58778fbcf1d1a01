"""Text that is none: the error names line and column, what was found and what was wanted; limits are kept."""

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
        (ModelProto, "", "1:1: expected a graph, found the end of the text"),
        (
            ModelProto,
            "<ir: 3> g () => () {}",
            "1:2: ModelProto has no field `ir`; it has ir_version, producer_name",
        ),
        (ModelProto, "<graph: g> g", "1:2: `graph` has a place of its own in a ModelProto; write it there"),
        (
            ModelProto,
            "<ir_version: 3, ir_version: 4>",
            "1:17: `ir_version` of this ModelProto is already set",
        ),
        (ModelProto, '<opset_import: [":": "x"]>', "1:22: expected an opset"),
        (GraphProto, "g (float x) {}", "1:13: expected `=>` after the graph's inputs, found `{`"),
        (
            GraphProto,
            "g () => () {\n  y = F(x)",
            "2:11: expected a node, or `}` after the nodes of the graph",
        ),
        (GraphProto, "g () => () {y = F(x), z = G(x)}", "1:21: expected a node, found `,`"),
        (GraphProto, "g (x = {1}) => () {}", "1:4: a value with data needs a type"),
        (
            GraphProto,
            "g () => () <float x @{} = {1}> {}",
            "1:25: the data of an initializer comes before its `@{…}`",
        ),
        (NodeProto, "y F(x)", "1:3: expected `,` or `=` after an output of the node, found `F`"),
        (
            NodeProto,
            "y = F(x",
            "1:8: expected `,` or `)` after an input of the node, found the end of the text",
        ),
        (NodeProto, "y = F<>(x)", "1:7: expected an attribute, found `>`"),
        (NodeProto, "y = F(x) z", "1:10: expected the end of the text after the NodeProto, found `z`"),
        (NodeProto, "y = F(x) @{input: []}", "1:12: `input` of this NodeProto is already set"),
        (NodeProto, 'y = F("x)', "1:7: this string has no closing quote"),
        (NodeProto, 'y = F("\\n")', "1:7: unknown escape `\\n`; there are"),
        (NodeProto, 'y = F("\\xff")', '1:7: `\\xff` is an escape only in a string of the form `b"…"`'),
        (NodeProto, 'y = F("\ud800")', "1:7: 'utf-8' codec can't encode character"),
        (
            NodeProto,
            "# é\n  y = F(é)",
            "2:9: 'é' begins no name, number, string or sign; quote names that need it",
        ),
        (AttributeProto, "a: whole = 1", "1:4: expected one of the attribute types undefined, float, int"),
        (AttributeProto, "a: int = 1.5", "1:10: expected a value of type `int`, found `1.5`"),
        (AttributeProto, "a: int = [1]", "1:11: a list cannot be the value of an attribute of type `int`"),
        (AttributeProto, "a: ints = 1", "1:11: expected a value of type `ints`, found `1`"),
        (AttributeProto, "a = []", "1:6: the type of an empty list has to be written, as in `: ints = []`"),
        (AttributeProto, "a = [1, 2.5]", "1:9: expected an integer, found `2.5`"),
        (AttributeProto, 'a = ["b",\n 1]', "2:2: expected a value of type `string`, found `1`"),
        (AttributeProto, "a = {}", "1:5: the type of a value in `{…}` has to be written"),
        (
            AttributeProto,
            "a = 1e39",
            "1:5: 1e39 does not fit float: it is larger than 3.4028234663852886e+38",
        ),
        (
            AttributeProto,
            "a = 9223372036854775808",
            "1:5: 9223372036854775808 does not fit int64: wanted -92",
        ),
        (AttributeProto, "a = " + "9" * 9999, "1:5: 9999999999999999999999999999999999999999 does not fit"),
        (AttributeProto, "a = [1,\n 2, 9223372036854775808]", "2:5: 9223372036854775808 does not fit int64"),
        (
            AttributeProto,
            "a: tensor = float",
            "1:13: data has to follow, as the attribute is of type `tensor`",
        ),
        (AttributeProto, "a: undefined = 1", "1:16: an attribute of type 0 has no value"),
        (AttributeProto, "a @{i: 3} = 4", "1:13: `i` of the attribute `a` is already set"),
        (TensorProto, "float[N] {1}", "1:1: the dimensions of a tensor are numbers"),
        (TensorProto, "float[] {1}", "1:1: a tensor has dimensions"),
        (TensorProto, "seq(float) {1}", "1:1: a tensor has a plain tensor type"),
        (TensorProto, "float[2] = 3", "1:12: expected the tensor's data, as `{…}`, found `3`"),
        (TensorProto, "float {1 2}", "1:10: expected `,` or `}`"),
        (TensorProto, "int8 {1.5}", "1:7: expected an integer as element of the tensor, found `1.5`"),
        (TensorProto, "float[3] {1.0, ...}", "1:16: `...` stands for data that was left out"),
        (TensorProto, "float {nan(0x1)}", "1:8: nan(0x1) is not a NaN of 32 bits"),
        (TensorProto, "int8 raw_data: {300}", "1:17: 300 does not fit int8: wanted -128 to 127"),
        (TensorProto, "int8[2] raw_data: {3}", "1:20: raw data of int8[2] has 2 numbers, found 1"),
        (TensorProto, "float16[2] raw_data: {1.0,\n 1e9}", "2:2: 1e9 does not fit float16"),
        (TensorProto, "float4e2m1 raw_data: {7.0}", "1:23: 7.0 does not fit float4e2m1"),
        (TensorProto, "float8e8m0 raw_data: {0.0}", "1:23: 0.0 does not fit float8e8m0"),
        (TensorProto, 'float raw_data: base64 "a"', "1:24: this is not base64"),
        (TensorProto, 'float raw_data: hex "abc"', "1:21: this is not hex"),
        (TypeProto, "float[2", "1:8: expected `,` or `]` after a dimension, found the end of the text"),
        (TypeProto, "flat", "1:1: expected a type, found `flat`"),
        (TypeProto, "map(float)", "1:10: expected `,` after the key type of `map(`, found `)`"),
        (
            TypeProto,
            "{tensor_type: {}, map_type: {}}",
            "1:19: `tensor_type` of this TypeProto is already set, which excludes `map_",
        ),
        (SequenceProto, "{elem_type: TENSER}", "1:13: expected one of UNDEFINED, TENSOR, SPARSE_TENSOR"),
        (SequenceProto, "3", "1:1: expected `{` of a SequenceProto, found `3`"),
        (MapProto, "{keys: 3}", "1:8: expected `[` of the list `keys`, found `3`"),
    ],
)
def test_errors_say_where_and_what(message: type[Record], text: str, error: str) -> None:
    with pytest.raises(TextError, match="^" + re.escape(error)):
        from_text(text, message)


def test_errors_name_the_source_and_carry_the_place() -> None:
    with pytest.raises(TextError) as caught:
        from_text("<ir_version: 3>\n  g => ()", source="m.onnxtxt")
    assert str(caught.value) == "m.onnxtxt:2:5: expected `(` before the graph's inputs, found `=>`"
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
    with pytest.raises(LimitError, match="messages are nested more than 128 levels deep") as caught:
        from_text(to_text(nested_graph(129)), GraphProto)
    assert caught.value.limit == "nesting"


def test_the_limit_of_nesting_counts_all_messages_that_can_hold_their_own_kind() -> None:
    few = Limits(nesting=3)
    for text, message in (
        ("seq(seq(seq(float)))", TypeProto),
        ("{sequence_values: [" * 4, SequenceProto),
        ("{values: {map_values: [" * 4, MapProto),
    ):
        with pytest.raises(LimitError, match="nested more than 3 levels"):
            from_text(text, message, limits=few)
    assert from_text("seq(seq(float))", TypeProto, limits=few).sequence_type is not None


def test_what_is_nested_deeper_than_the_stack_is_a_limit_not_a_crash() -> None:
    with pytest.raises(LimitError, match="Python's stack"):
        from_text("seq(" * 9999, TypeProto, limits=Limits(nesting=99999))
    with pytest.raises(LimitError, match="Python's stack"):
        to_text(nested_graph(2000))


def test_the_limit_of_size_counts_characters() -> None:
    with pytest.raises(LimitError, match="the text has 5 characters, more than 4"):
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
