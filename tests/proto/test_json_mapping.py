"""The JSON mapping by field type: the form that is written, and the alternative forms that are read."""

from __future__ import annotations

import numpy as np
import pytest
from google.protobuf import json_format

from proto.judge import judge_of
from sardonyx._src.errors import JsonError
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.json import from_json, to_json
from sardonyx._src.proto.json.reader import json_name
from sardonyx._src.proto.messages import MESSAGES
from sardonyx._src.proto.record import Record

NAN = float("nan")
INF = float("inf")
DIM = m.TensorShapeProtoDimension

WRITTEN = [  # record, its JSON
    (m.ModelProto(), "{}"),
    (m.NodeProto(op_type="Abs", input=["x", ""]), '{"input": ["x", ""], "opType": "Abs"}'),
    (m.NodeProto(op_type='\u00e9"\n\U0001f600'), '{"opType": "\\u00e9\\"\\n\\ud83d\\ude00"}'),
    (m.ModelProto(ir_version=-(1 << 63)), '{"irVersion": "-9223372036854775808"}'),
    (m.TensorProto(uint64_data=[(1 << 64) - 1]), '{"uint64Data": ["18446744073709551615"]}'),
    (m.TensorProto(int32_data=[-1, 7], data_type=7), '{"dataType": 7, "int32Data": [-1, 7]}'),
    (m.TensorProto(raw_data=b"\x00\xff\xfe~"), '{"rawData": "AP/+fg=="}'),
    (m.TensorProto(raw_data=memoryview(b"ab")), '{"rawData": "YWI="}'),
    (m.TensorProto(string_data=[b"", b"a"]), '{"stringData": ["", "YQ=="]}'),
    (m.AttributeProto(type=7), '{"type": "INTS"}'),
    (m.AttributeProto(type=99), '{"type": 99}'),
    (m.AttributeProto(type=-1), '{"type": -1}'),
    (m.TensorProto(data_location=0), '{"dataLocation": "DEFAULT"}'),
    (m.AttributeProto(f=0.1), '{"f": 0.1}'),
    (m.AttributeProto(f=float(np.float32(0.1))), '{"f": 0.1}'),
    (m.AttributeProto(f=float(np.float32(1 / 3))), '{"f": 0.33333334}'),
    (m.AttributeProto(f=1.0), '{"f": 1.0}'),
    (m.AttributeProto(f=-0.0), '{"f": -0.0}'),
    (m.AttributeProto(f=float(np.float32(1e-45))), '{"f": 1e-45}'),
    (m.AttributeProto(f=-3.4028234663852886e38), '{"f": -3.4028234663852886e+38}'),
    (m.AttributeProto(floats=[NAN, INF, -INF]), '{"floats": ["NaN", "Infinity", "-Infinity"]}'),
    (m.TensorProto(double_data=[0.1, 1e300, NAN]), '{"doubleData": [0.1, 1e+300, "NaN"]}'),
    (m.TensorProto(float_data=np.array([0.1, INF], np.float32)), '{"floatData": [0.1, "Infinity"]}'),
    (m.TensorProto(int64_data=np.array([-1], np.int64)), '{"int64Data": ["-1"]}'),
    (m.TypeProto(tensor_type=m.TypeProtoTensor(shape=m.TensorShapeProto())), '{"tensorType": {"shape": {}}}'),
    (m.TensorShapeProto(dim=[DIM(dim_value=0), DIM()]), '{"dim": [{"dimValue": "0"}, {}]}'),
    (m.AttributeProto(i=0, f=0.0, s=b"", name="", type=0), '{"name": "", "f": 0.0, "i": "0", "s": "", "type": "UNDEFINED"}'),
]  # fmt: skip


@pytest.mark.parametrize(("record", "text"), WRITTEN)
def test_a_record_is_written_so_and_read_back(record: Record, text: str) -> None:
    assert to_json(record) == text
    again = from_json(text, type(record))
    assert to_json(again) == text
    assert [f.name for f, _ in again.present()] == [f.name for f, _ in record.present()]


READ = [  # text, record
    ('{"op_type": "Abs", "doc_string": ""}', m.NodeProto(op_type="Abs", doc_string="")),
    ('{"opType": null, "input": null, "attribute": []}', m.NodeProto()),
    ('{"dimValue": null, "dimParam": "n"}', DIM(dim_param="n")),
    ('{"irVersion": 8}', m.ModelProto(ir_version=8)),
    ('{"irVersion": 8.0}', m.ModelProto(ir_version=8)),
    ('{"irVersion": 8e0}', m.ModelProto(ir_version=8)),
    ('{"irVersion": "80e-1"}', m.ModelProto(ir_version=8)),
    ('{"irVersion": -9223372036854775808}', m.ModelProto(ir_version=-(1 << 63))),
    ('{"uint64Data": [18446744073709551615]}', m.TensorProto(uint64_data=[(1 << 64) - 1])),
    ('{"dataType": "7"}', m.TensorProto(data_type=7)),
    ('{"rawData": "-_8"}', m.TensorProto(raw_data=b"\xfb\xff")),
    ('{"rawData": "+/8="}', m.TensorProto(raw_data=b"\xfb\xff")),
    ('{"type": 7}', m.AttributeProto(type=7)),
    ('{"type": 99}', m.AttributeProto(type=99)),
    ('{"f": 1, "floats": ["1.5", "-2e3", 3]}', m.AttributeProto(f=1.0, floats=[1.5, -2000.0, 3.0])),
    ('{"f": 0.1}', m.AttributeProto(f=float(np.float32(0.1)))),
    ('{"f": 3.4028235e+38}', m.AttributeProto(f=3.4028234663852886e38)),
    ('{"f": ' + "1" * 30 + "}", m.AttributeProto(f=float(np.float32(1.1111111111111111e29)))),
    ('{"opType": "\\ud83d\\ude00"}', m.NodeProto(op_type="\U0001f600")),
    (' {"graph" : { } }\n', m.ModelProto(graph=m.GraphProto())),
]


@pytest.mark.parametrize(("text", "record"), READ)
def test_other_ways_to_write_it_are_read(text: str, record: Record) -> None:
    assert from_json(text, type(record)) == record


@pytest.mark.parametrize(("text", "record"), [(t, r) for t, r in READ if "99" not in t and "e+38" not in t])
def test_protobuf_reads_them_the_same(text: str, record: Record) -> None:
    theirs = json_format.Parse(text, judge_of(type(record))())
    assert to_json(record, indent=2) == json_format.MessageToJson(theirs)


def test_floats_are_rounded_to_what_the_binary_form_can_hold() -> None:
    assert from_json('{"f": 0.1}', m.AttributeProto).f == 0.10000000149011612
    assert from_json('{"doubleData": [0.1]}', m.TensorProto).double_data == [0.1]


def test_nan_is_read_from_a_string() -> None:
    floats = from_json('{"floats": ["NaN"], "f": "NaN"}', m.AttributeProto)
    assert floats == m.AttributeProto(floats=[NAN], f=NAN)


def test_protobuf_refuses_its_own_text_of_the_largest_float_and_reads_ours() -> None:
    largest = judge_of(m.AttributeProto)(f=3.4028234663852886e38)
    with pytest.raises(json_format.ParseError):
        json_format.Parse(json_format.MessageToJson(largest), judge_of(m.AttributeProto)())
    assert json_format.Parse(to_json(m.AttributeProto(f=largest.f)), judge_of(m.AttributeProto)()) == largest


def test_names_are_those_of_the_descriptors() -> None:
    for message in MESSAGES:
        names = {f.name: f.json_name for f in judge_of(message).DESCRIPTOR.fields}
        assert {f.name: json_name(f.name) for f in message.FIELDS} == names


def test_indentation_puts_every_part_on_a_line_of_its_own() -> None:
    record = m.GraphProto(node=[m.NodeProto(input=["x"])])
    assert to_json(record, indent=1) == '{\n "node": [\n  {\n   "input": [\n    "x"\n   ]\n  }\n ]\n}'


def test_unknown_fields_are_refused_or_dropped_on_demand() -> None:
    node = m.NodeProto(name="n")
    node.add_unknown(b"\x78\x01")
    graph = m.GraphProto(node=[m.NodeProto(), node])
    with pytest.raises(
        JsonError, match=r"^node\[1\]: a record must have no unknown fields to be written as JSON; got 1"
    ):
        to_json(graph)
    assert to_json(graph, drop_unknown=True) == '{"node": [{}, {"name": "n"}]}'
