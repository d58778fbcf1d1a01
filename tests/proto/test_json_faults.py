"""JSON that is no message, records that JSON cannot hold: the error names the place; nothing overflows."""

from __future__ import annotations

import time

import numpy as np
import pytest
from google.protobuf import json_format
from hypothesis import given, settings
from hypothesis import strategies as st

from proto.judge import judge_of
from sardonyx._src.errors import JsonError, LimitError
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import encode
from sardonyx._src.proto.json import from_json, to_json
from sardonyx._src.proto.record import Record
from sardonyx._src.proto.wire import Limits

NODE = '{"graph": {"node": [{}, {}, {}, {"attribute": [%s]}]}}'
PLACE = "graph.node[3].attribute[0]"

READING = [  # an attribute of node 3, what the error says
    ('{"i": "x"}', f"{PLACE}.i: string 'x' stands where an integer is wanted"),
    ('{"i": 1.5}', f"{PLACE}.i: number 1.5 stands where an integer is wanted"),
    ('{"i": true}', f"{PLACE}.i: true stands where an integer is wanted"),
    ('{"i": [1]}', f"{PLACE}.i: an array stands where an integer is wanted"),
    ('{"i": " 1"}', f"{PLACE}.i: string ' 1' stands where an integer is wanted"),
    ('{"i": "1_0"}', f"{PLACE}.i: string '1_0' stands where an integer is wanted"),
    ('{"i": "01"}', f"{PLACE}.i: string '01' stands where an integer is wanted"),
    ('{"i": "0x1"}', f"{PLACE}.i: string '0x1' stands where an integer is wanted"),
    ('{"i": "\u0661"}', f"{PLACE}.i: string '\u0661' stands where an integer is wanted"),
    ('{"i": ""}', f"{PLACE}.i: string '' stands where an integer is wanted"),
    ('{"i": 9223372036854775808}', f"{PLACE}.i: number 9223372036854775808 does not fit int64"),
    ('{"i": "-9223372036854775809"}', f"{PLACE}.i: string '-9223372036854775809' does not fit int64"),
    ('{"i": 1e30}', f"{PLACE}.i: number 1e+30 does not fit int64"),
    ('{"i": 1e999}', f"{PLACE}.i: number inf stands where an integer is wanted"),
    ('{"ints": [1, null]}', f"{PLACE}.ints[1]: null stands where an integer is wanted"),
    ('{"ints": 1}', f"{PLACE}.ints: number 1 stands where an array is wanted"),
    ('{"ints": {}}', f"{PLACE}.ints: an object stands where an array is wanted"),
    ('{"t": {"dataType": 2147483648}}', f"{PLACE}.t.data_type: number 2147483648 does not fit int32"),
    ('{"t": {"uint64Data": ["-1"]}}', f"{PLACE}.t.uint64_data[0]: string '-1' does not fit uint64"),
    ('{"f": 1e39}', f"{PLACE}.f: number 1e+39 does not fit float; NaN and infinities stand in quotes"),
    ('{"f": NaN}', f"{PLACE}.f: number nan does not fit float; NaN and infinities stand in quotes"),
    ('{"f": "nan"}', f"{PLACE}.f: string 'nan' stands where a number is wanted"),
    ('{"f": "inf"}', f"{PLACE}.f: string 'inf' stands where a number is wanted"),
    ('{"f": false}', f"{PLACE}.f: false stands where a number is wanted"),
    ('{"t": {"doubleData": ["1e999"]}}', f"{PLACE}.t.double_data[0]: string '1e999' does not fit double; NaN and infinities stand in quotes"),
    ('{"name": 5}', f"{PLACE}.name: number 5 stands where a string is wanted"),
    ('{"name": "\\ud83d"}', f"{PLACE}.name: string '\\ud83d' holds half of a surrogate pair"),
    ('{"s": 5}', f"{PLACE}.s: number 5 stands where a string in base64 is wanted"),
    ('{"s": "YQ="}', f"{PLACE}.s: string 'YQ=' is not base64: its padding is not right"),
    ('{"s": "YQ==YQ=="}', f"{PLACE}.s: string 'YQ==YQ==' is not base64: "),
    ('{"s": "Y"}', f"{PLACE}.s: string 'Y' is not base64: "),
    ('{"s": "Y Q="}', f"{PLACE}.s: string 'Y Q=' is not base64: "),
    ('{"s": "\u00e9\u00e9\u00e9\u00e9"}', f"{PLACE}.s: string '\u00e9\u00e9\u00e9\u00e9' is not base64: "),
    ('{"type": "INTEGER"}', f"{PLACE}.type: string 'INTEGER' is none of UNDEFINED, FLOAT, INT, "),
    ('{"type": 2147483648}', f"{PLACE}.type: number 2147483648 does not fit enum"),
    ('{"t": 1}', f"{PLACE}.t: number 1 stands where an object is wanted (TensorProto)"),
    ('{"t": []}', f"{PLACE}.t: an array stands where an object is wanted (TensorProto)"),
    ("null", f"{PLACE}: null stands where an object is wanted (AttributeProto)"),
    ('{"typ": 1}', f"{PLACE}: AttributeProto has no field 'typ'"),
    ('{"typ": null}', f"{PLACE}: AttributeProto has no field 'typ'"),
    ('{"i": 1, "i": 1}', f"{PLACE}: key 'i' comes twice"),
    ('{"docString": "", "doc_string": ""}', f"{PLACE}: keys 'docString' and 'doc_string' set the same field or oneof"),
    (
        '{"tp": {"tensorType": {}, "sequenceType": {}}}',
        f"{PLACE}.tp: keys 'tensorType' and 'sequenceType' set the same field or oneof",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("attribute", "error"), READING)
def test_a_fault_is_told_with_its_path(attribute: str, error: str) -> None:
    with pytest.raises(JsonError) as raised:
        from_json(NODE % attribute, m.ModelProto)
    assert str(raised.value).startswith(error)
    assert str(raised.value) == f"{raised.value.path}: {raised.value.why}"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "document: line 1, column 1: Expecting value"),
        ('{"graph": {},\n "x" 1}', "document: line 2, column 6: Expecting ':' delimiter"),
        ("[]", "document: an array stands where an object is wanted (ModelProto)"),
        ('{"graph": {}} x', "document: line 1, column 15: Extra data"),
        ('{"a": 1, "a": 1}', "document: key 'a' comes twice"),
    ],
)
def test_text_that_is_no_object_is_told_by_its_line(text: str, error: str) -> None:
    with pytest.raises(JsonError) as raised:
        from_json(text, m.ModelProto)
    assert str(raised.value) == error


WRITING: list[tuple[Record, str]] = [
    (m.NodeProto(op_type="A\udcff"), "op_type: 'A\\udcff' is not UTF-8, which JSON cannot hold"),
    (m.NodeProto(input=["x", "\ud800"]), "input[1]: '\\ud800' holds surrogates that stand for no byte"),
    (m.NodeProto(input="x"), "input: 'x' stands where a list is wanted"),
    (m.TensorProto(float_data=1.0), "float_data: 1.0 stands where a list is wanted"),
    (m.NodeProto(attribute=[m.NodeProto()]), "attribute[0]: NodeProto stands where AttributeProto is wanted"),
    (
        m.NodeProto(attribute=[m.AttributeProto(i="3")]),
        "attribute[0].i: str '3' stands where int64 is wanted",
    ),
    (m.AttributeProto(f=1e39), "f: 1e+39 does not fit float"),
    (m.TensorProto(int32_data=np.array([0, 1 << 31])), "int32_data[1]: 2147483648 does not fit int32"),
]


@pytest.mark.parametrize(("record", "error"), WRITING)
def test_a_record_that_json_cannot_hold_is_refused(record: Record, error: str) -> None:
    with pytest.raises(JsonError) as raised:
        to_json(record)
    assert str(raised.value) == error


def test_an_attribute_that_is_no_field_is_refused() -> None:
    node = m.NodeProto()
    node.__dict__["op_typ"] = "Abs"
    with pytest.raises(JsonError, match=r"^node\[0\]: NodeProto has no field 'op_typ'"):
        to_json(m.GraphProto(node=[node]))


VALID = (
    '{"graph": {"node": [{"input": ["x"], "opType": "Conv", "attribute": [{"name": "a", "f": 1.5, "i": "-3", '
    '"s": "YWI=", "type": "INT", "floats": ["NaN", 1e3], "tp": {"tensorType": {"elemType": 1}}}]}]}}'
)


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """The text of a small model with some of its characters replaced, removed or added."""
    text = VALID
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        removed = draw(st.sampled_from([0, 1, 1, 2, 6, 1000]))
        added = draw(
            st.one_of(st.text(max_size=2), st.sampled_from([*'{}[],:"01e.-', "null", "true", "NaN", "{}"]))
        )
        text = text[:at] + added + text[at + removed :]
    return text


@settings(max_examples=1000, deadline=None, derandomize=True)
@given(damaged())
def test_damaged_text_gives_a_record_or_our_own_error(text: str) -> None:
    try:
        record = from_json(text, m.ModelProto)
    except (JsonError, LimitError):
        return
    assert from_json(to_json(record), m.ModelProto) == record
    assert json_format.Parse(text, judge_of(m.ModelProto)()) == judge_of(m.ModelProto).FromString(
        encode(record)
    )


# --- limits ---


def nested_graphs(levels: int) -> m.ModelProto:
    graph = m.GraphProto(name="innermost")
    for _ in range(levels - 1):
        graph = m.GraphProto(node=[m.NodeProto(attribute=[m.AttributeProto(g=graph)])])
    return m.ModelProto(graph=graph)


def test_nesting_is_limited_as_in_the_binary_form() -> None:
    assert from_json(to_json(nested_graphs(128)), m.ModelProto) == nested_graphs(128)
    assert from_json(to_json(nested_graphs(128), indent=1), m.ModelProto) == nested_graphs(128)
    with pytest.raises(LimitError) as raised:
        from_json(to_json(nested_graphs(129)), m.ModelProto)
    assert raised.value.limit == "nesting"


def test_a_record_too_deep_to_be_written_is_refused() -> None:
    with pytest.raises(LimitError, match="recursion limit"):
        to_json(nested_graphs(2000))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, '{"graph":{"node":[' * 50_000])
def test_ten_thousands_of_levels_are_refused(text: str) -> None:
    with pytest.raises(LimitError):
        from_json(text, m.ModelProto)


def test_objects_are_counted_as_they_are_parsed() -> None:
    text = '{"node": [{}, {}, {}]}'
    assert len(from_json(text, m.GraphProto, Limits(records=4)).node) == 3
    with pytest.raises(LimitError, match="more than 3 objects") as raised:
        from_json(text, m.GraphProto, Limits(records=3))
    assert raised.value.limit == "records"


def test_characters_are_counted() -> None:
    with pytest.raises(LimitError, match="2 characters, more than 1") as raised:
        from_json("{}", m.GraphProto, Limits(size=1))
    assert raised.value.limit == "size"


@pytest.mark.parametrize(
    "text",
    [
        '{"i": ' + "9" * 1_000_000 + "}",
        '{"i": "' + "9" * 1_000_000 + '"}',
        '{"i": 1e999999999}',
        '{"i": "1e999999999"}',
        "{" + ", ".join(f'"a{i}": 1' for i in range(50_000)) + ', "a0": 1}',
    ],
)
def test_huge_numbers_and_objects_are_refused_at_once(text: str) -> None:
    start = time.perf_counter()
    with pytest.raises(JsonError):
        from_json(text, m.AttributeProto)
    assert time.perf_counter() - start < 5.0
