"""JSON that is no message, and records that JSON cannot represent: errors name the location; nothing overflows."""

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

READING = [  # an attribute of node 3, the error message
    ('{"i": "x"}', f"{PLACE}.i: the value must be an integer; got string 'x'"),
    ('{"i": 1.5}', f"{PLACE}.i: the value must be an integer; got number 1.5"),
    ('{"i": true}', f"{PLACE}.i: the value must be an integer; got true"),
    ('{"i": [1]}', f"{PLACE}.i: the value must be an integer; got an array"),
    ('{"i": " 1"}', f"{PLACE}.i: the value must be an integer; got string ' 1'"),
    ('{"i": "1_0"}', f"{PLACE}.i: the value must be an integer; got string '1_0'"),
    ('{"i": "01"}', f"{PLACE}.i: the value must be an integer; got string '01'"),
    ('{"i": "0x1"}', f"{PLACE}.i: the value must be an integer; got string '0x1'"),
    ('{"i": "\u0661"}', f"{PLACE}.i: the value must be an integer; got string '\u0661'"),
    ('{"i": ""}', f"{PLACE}.i: the value must be an integer; got string ''"),
    ('{"i": 9223372036854775808}', f"{PLACE}.i: the value must fit in int64; got number 9223372036854775808"),
    ('{"i": "-9223372036854775809"}', f"{PLACE}.i: the value must fit in int64; got string '-9223372036854775809'"),
    ('{"i": 1e30}', f"{PLACE}.i: the value must fit in int64; got number 1e+30"),
    ('{"i": 1e999}', f"{PLACE}.i: the value must be an integer; got number inf"),
    ('{"ints": [1, null]}', f"{PLACE}.ints[1]: the value must be an integer; got null"),
    ('{"ints": 1}', f"{PLACE}.ints: the value must be an array; got number 1"),
    ('{"ints": {}}', f"{PLACE}.ints: the value must be an array; got an object"),
    ('{"t": {"dataType": 2147483648}}', f"{PLACE}.t.data_type: the value must fit in int32; got number 2147483648"),
    ('{"t": {"uint64Data": ["-1"]}}', f"{PLACE}.t.uint64_data[0]: the value must fit in uint64; got string '-1'"),
    ('{"f": 1e39}', f"{PLACE}.f: the value must fit in float; got number 1e+39; write NaN and infinities as strings"),
    ('{"f": NaN}', f"{PLACE}.f: the value must fit in float; got number nan; write NaN and infinities as strings"),
    ('{"f": "nan"}', f"{PLACE}.f: the value must be a number; got string 'nan'"),
    ('{"f": "inf"}', f"{PLACE}.f: the value must be a number; got string 'inf'"),
    ('{"f": false}', f"{PLACE}.f: the value must be a number; got false"),
    ('{"t": {"doubleData": ["1e999"]}}', f"{PLACE}.t.double_data[0]: the value must fit in double; got string '1e999'; write NaN and infinities as strings"),
    ('{"name": 5}', f"{PLACE}.name: the value must be a string; got number 5"),
    ('{"name": "\\ud83d"}', f"{PLACE}.name: a string must have no unpaired surrogates; got string '\\ud83d'"),
    ('{"s": 5}', f"{PLACE}.s: the value must be a string in base64; got number 5"),
    ('{"s": "YQ="}', f"{PLACE}.s: the value must be base64; got string 'YQ=', whose padding is wrong"),
    ('{"s": "YQ==YQ=="}', f"{PLACE}.s: the value must be base64; got string 'YQ==YQ==': "),
    ('{"s": "Y"}', f"{PLACE}.s: the value must be base64; got string 'Y': "),
    ('{"s": "Y Q="}', f"{PLACE}.s: the value must be base64; got string 'Y Q=': "),
    ('{"s": "\u00e9\u00e9\u00e9\u00e9"}', f"{PLACE}.s: the value must be base64; got string '\u00e9\u00e9\u00e9\u00e9': "),
    ('{"type": "INTEGER"}', f"{PLACE}.type: the value must be one of UNDEFINED, FLOAT, INT, "),
    ('{"type": 2147483648}', f"{PLACE}.type: the value must fit in enum; got number 2147483648"),
    ('{"t": 1}', f"{PLACE}.t: the value must be an object (TensorProto); got number 1"),
    ('{"t": []}', f"{PLACE}.t: the value must be an object (TensorProto); got an array"),
    ("null", f"{PLACE}: the value must be an object (AttributeProto); got null"),
    ('{"typ": 1}', f"{PLACE}: AttributeProto has no field 'typ'"),
    ('{"typ": null}', f"{PLACE}: AttributeProto has no field 'typ'"),
    ('{"i": 1, "i": 1}', f"{PLACE}: keys of an object must be unique; got 'i' twice"),
    ('{"docString": "", "doc_string": ""}', f"{PLACE}: keys 'docString' and 'doc_string' set the same field or oneof"),
    (
        '{"tp": {"tensorType": {}, "sequenceType": {}}}',
        f"{PLACE}.tp: keys 'tensorType' and 'sequenceType' set the same field or oneof",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("attribute", "error"), READING)
def test_an_error_names_its_path(attribute: str, error: str) -> None:
    with pytest.raises(JsonError) as raised:
        from_json(NODE % attribute, m.ModelProto)
    assert str(raised.value).startswith(error)
    assert str(raised.value) == f"{raised.value.path}: {raised.value.why}"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "document: line 1, column 1: Expecting value"),
        ('{"graph": {},\n "x" 1}', "document: line 2, column 6: Expecting ':' delimiter"),
        ("[]", "document: the value must be an object (ModelProto); got an array"),
        ('{"graph": {}} x', "document: line 1, column 15: Extra data"),
        ('{"a": 1, "a": 1}', "document: keys of an object must be unique; got 'a' twice"),
    ],
)
def test_text_that_is_no_object_is_reported_with_its_line(text: str, error: str) -> None:
    with pytest.raises(JsonError) as raised:
        from_json(text, m.ModelProto)
    assert str(raised.value) == error


WRITING: list[tuple[Record, str]] = [
    (m.NodeProto(op_type="A\udcff"), "op_type: a string must be UTF-8 to be written as JSON; got 'A\\udcff'"),
    (
        m.NodeProto(input=["x", "\ud800"]),
        "input[1]: a surrogate in a string must be the escape of a byte; got '\\ud800'",
    ),
    (m.NodeProto(input="x"), "input: the value must be a list; got 'x'"),
    (m.TensorProto(float_data=1.0), "float_data: the value must be a list; got 1.0"),
    (m.NodeProto(attribute=[m.NodeProto()]), "attribute[0]: the value must be AttributeProto; got NodeProto"),
    (
        m.NodeProto(attribute=[m.AttributeProto(i="3")]),
        "attribute[0].i: the value must be int64; got str '3'",
    ),
    (m.AttributeProto(f=1e39), "f: the value must fit in float; got 1e+39"),
    (
        m.TensorProto(int32_data=np.array([0, 1 << 31])),
        "int32_data[1]: the value must fit in int32; got 2147483648",
    ),
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
def damaged_texts(draw: st.DrawFn) -> str:
    """The text of a small model with some of its characters replaced, removed or added."""
    text = VALID
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        removed = draw(st.sampled_from([0, 1, 1, 2, 6, 1000]))
        added = draw(
            st.one_of(st.text(max_size=2), st.sampled_from([*'{}[],:"01e.-', "null", "true", "NaN", "{}"]))
        )
        text = text[:start] + added + text[start + removed :]
    return text


@settings(max_examples=1000, deadline=None, derandomize=True)
@given(damaged_texts())
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
    with pytest.raises(LimitError, match="at most 3 objects") as raised:
        from_json(text, m.GraphProto, Limits(records=3))
    assert raised.value.limit == "records"


def test_characters_are_counted() -> None:
    with pytest.raises(LimitError, match="at most 1 characters; got 2") as raised:
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
