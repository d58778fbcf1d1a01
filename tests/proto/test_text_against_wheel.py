"""The parser and printer of the onnx wheel agree with ours on all models that the wheel's syntax can express."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache

import onnx.parser
import onnx.printer
import pytest

from proto.official_models import node_models, shared_models, stored_models
from sardonyx._src import dtypes
from sardonyx._src.proto.binary import decode
from sardonyx._src.proto.messages import (
    AttributeProto,
    GraphProto,
    ModelProto,
    NodeProto,
    OperatorSetIdProto,
    TensorProto,
    ValueInfoProto,
)
from sardonyx._src.proto.record import Record
from sardonyx._src.proto.text import from_text, to_text
from sardonyx._src.proto.text.words import DATA_TYPES

RAW, OPSET, DOC = "raw_data", "opset without domain", "documentation or metadata of a node"
CONSTANT = "name of a constant that is no identifier"
SUBGRAPH = "name of a subgraph that is no identifier"
UNTYPED = "type that says nothing"
MEBIBYTE = 1 << 20
IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def records_in(record: Record) -> Iterator[Record]:
    yield record
    for field, value in record.present():
        if field.message is not None:
            for item in value if isinstance(value, list) else [value]:
                assert isinstance(item, Record)
                yield from records_in(item)


def fill_header(model: ModelProto) -> ModelProto:
    """The model with the two fields that the wheel's parser sets to "" if the text omits them."""
    for record in records_in(model):
        if isinstance(record, NodeProto) and not record.has("domain"):
            record.domain = ""
        if isinstance(record, AttributeProto) and record.t is not None and not record.t.has("name"):
            record.t.name = ""
    return model


def plain(model: ModelProto) -> ModelProto:
    """The model without features that the wheel has no notation for; tensors have typed fields."""
    for record in records_in(model):
        if isinstance(record, TensorProto) and record.has("raw_data"):
            to_typed_field(record)
        if isinstance(record, OperatorSetIdProto) and not record.has("domain"):
            record.domain = ""
        if isinstance(record, NodeProto | GraphProto | ValueInfoProto):
            record.clear("doc_string")
            record.clear("metadata_props")
        if isinstance(record, ValueInfoProto) and record.type is not None and not list(record.type.present()):
            record.clear("type")
        if isinstance(record, AttributeProto) and record.t is not None:
            record.t.clear("name")
        if isinstance(record, AttributeProto) and record.g is not None:
            record.g.name = "inner"
    return model


def to_typed_field(tensor: TensorProto) -> None:
    dtype = DATA_TYPES[tensor.data_type]
    field, values = dtypes.to_field(dtypes.unpack(tensor.raw_data, dtype, tensor.dims), dtype)
    tensor.clear("raw_data")
    setattr(tensor, field, values)


def features_beyond_the_wheel(model: ModelProto) -> set[str]:
    """The features of a model that the wheel's parser has no notation for."""
    return {feature for record in records_in(model) for feature in features_of(record)}


def features_of(record: Record) -> Iterator[str]:
    if isinstance(record, TensorProto) and record.has("raw_data"):
        yield RAW
    if isinstance(record, OperatorSetIdProto) and not record.has("domain"):
        yield OPSET
    if isinstance(record, NodeProto) and (record.has("doc_string") or record.has("metadata_props")):
        yield DOC
    if isinstance(record, ValueInfoProto) and record.type is not None and record.type.which("value") is None:
        yield UNTYPED
    if isinstance(record, AttributeProto):
        if record.t is not None and record.t.has("name") and not IDENTIFIER.fullmatch(record.t.name):
            yield CONSTANT
        if record.g is not None and not IDENTIFIER.fullmatch(record.g.name):
            yield SUBGRAPH


@cache
def models(kind: str) -> Mapping[str, bytes]:
    encodings = {"node": node_models, "stored": stored_models, "shared": shared_models}[kind]()
    return {
        name: data for name, data in encodings.items() if len(data) < MEBIBYTE
    }  # large weights prove nothing more


def wheel_reads(text: str) -> ModelProto | None:
    try:
        return decode(onnx.parser.parse_model(text).SerializeToString(), ModelProto)
    except (onnx.parser.ParseError, UnicodeDecodeError, ValueError):
        return None


@pytest.mark.parametrize("kind", ["node", "stored"])
def test_wheel_reads_what_we_print_of_models_without_extensions(kind: str) -> None:
    for name, data in models(kind).items():
        model = decode(data, ModelProto)
        features = features_beyond_the_wheel(model)
        theirs = wheel_reads(to_text(model))
        assert (theirs is None) == bool(features), (name, features)
        assert theirs is None or theirs == fill_header(model), name


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("node", {"all": 1884, "plain": 1749, CONSTANT: 132, RAW: 3}),
        ("stored", {"all": 149, "plain": 23, OPSET: 117, RAW: 64, CONSTANT: 9}),
    ],
)
def test_models_that_need_extensions_are_these(kind: str, expected: dict[str, int]) -> None:
    counts: Counter[str] = Counter()
    for data in models(kind).values():
        counts.update(features_beyond_the_wheel(decode(data, ModelProto)) or ["plain"])
        counts["all"] += 1
    assert counts == expected


@pytest.mark.parametrize("kind", ["node", "stored", "shared"])
def test_wheel_reads_every_model_once_what_it_cannot_say_is_taken_out(kind: str) -> None:
    for name, data in models(kind).items():
        model = plain(decode(data, ModelProto))
        assert features_beyond_the_wheel(model) == set(), name
        assert wheel_reads(to_text(model)) == fill_header(model), name


@pytest.mark.parametrize("kind", ["node", "stored", "shared"])
def test_we_read_what_the_wheel_prints_as_the_wheel_does(kind: str) -> None:
    for name, data in models(kind).items():
        text = onnx.printer.to_text(onnx.load_from_string(data))
        ours, theirs = fill_header(from_text(text)), wheel_reads(text)
        if theirs is None:  # it cannot parse these names in its own quotes
            assert features_beyond_the_wheel(decode(data, ModelProto)) & {CONSTANT, SUBGRAPH}, name
        else:
            assert ours == theirs, name


def test_both_read_every_notation_of_the_official_syntax() -> None:
    text = """# a model
<ir_version: 10, opset_import: ["": 21, "my.own": 1], doc_string: "two
lines", metadata_props: ["k": "v"]>
"main graph" (float[N, ?, 3, "a b"] x, seq(map(int64, string[])) s, opaque(a.b, c) o, float[2] float = {1, -2e3}) => (bool y)
  <sparse_tensor(float[9]) z, optional(bfloat16) e, int4[2] q = ["location": "w", "offset": "0"]>
{
  ["a node"] y, "" = my.own.F:second<alpha = 1.5, names = ["a", "b\\"c\\\\"], none: ints = [], kind: type_proto = float[3]>(x, "", s)
  = .If(y,, nan) <to: int = @to, then_branch = inner () => (float z) {
    z = Constant<value = double[2] w {1e-300, -inf}, other = float16 {15360}>()
  }>
}
<opset_import: ["": 21], domain: "my.own", overload: "second", doc_string: "d">
F <beta, alpha: float = 1, gamma: strings> (float[N] x, y) => (float z) <float w>
{
  w = Scale<by: float = @alpha, nan = nan>(x, y)
  z = Identity(w)
}"""
    theirs = wheel_reads(text)
    assert theirs is not None
    assert fill_header(from_text(text)) == theirs
    assert from_text(to_text(theirs)) == theirs


def test_wheel_refuses_the_notations_that_it_lacks_rather_than_misread_them() -> None:
    for node in (
        'y = F(x) @{doc_string: "d"}',
        'y = F(b"x\\x00")',
        "y = F<a = float[2] raw_data: {1.0, 2.0}>(x)",
        'y = F<a = base64 "AA==">(x)',
        "y = F<a: tensor = {data_type: 99}>(x)",
        "y = F<a @{i: 1}>(x)",
        'y = "a b"(x)',
        '{input: ["x"]}',
    ):
        text = f"g () => () {{ {node} }}"
        assert len(from_text(text, GraphProto).node) == 1
        with pytest.raises(onnx.parser.ParseError):
            onnx.parser.parse_graph(text)
