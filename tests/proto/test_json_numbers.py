"""Lists of numbers in JSON: written and read in bulk, with the same text and values as one by one."""

from __future__ import annotations

import json

import numpy as np
import pytest
from google.protobuf import json_format
from numpy.typing import NDArray

from proto.judge import judge_of
from sardonyx._src.errors import JsonError
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import encode
from sardonyx._src.proto.json import from_json, to_json
from sardonyx._src.proto.record import Record

RNG = np.random.default_rng(12)
NAN = float("nan")
SPECIAL = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}
LARGEST_TEXTS = {"3.4028235e+38": "3.4028234663852886e+38", "-3.4028235e+38": "-3.4028234663852886e+38"}


def random_bits() -> NDArray[np.float32]:
    """Floats of all magnitudes, subnormal and not finite ones too; NaNs are quiet, which doubles preserve."""
    singles = RNG.integers(0, 1 << 32, 100_000, np.uint32).view(np.float32)
    return np.where(np.isnan(singles), np.float32(np.nan), singles)


def neighbors(values: NDArray[np.floating]) -> NDArray[np.float32]:
    """The floats around the given ones."""
    bits = values.astype(np.float32).view(np.int32)
    return (bits[:, np.newaxis] + np.arange(-20, 21, dtype=np.int32)).ravel().view(np.float32)


FLOATS = {
    "all bit patterns": random_bits(),
    "weights": (RNG.standard_normal(100_000) * 0.05).astype(np.float32),
    "uniform in magnitude": (10 ** RNG.uniform(-5, 7, 100_000)).astype(np.float32),
    "halves and quarters": (np.arange(-40_000, 40_000) / 4).astype(np.float32),
    "large halves": (np.arange(900_000, 900_400) / 2 + 450_000).astype(np.float32),
    "decimals": (np.arange(50_000) / 1000).astype(np.float32),
    "around powers of two": neighbors(2.0 ** np.arange(-140, 127)),
    "around powers of ten": neighbors(10.0 ** np.arange(-37, 38)),
    "signed zeros": np.array([0.0, -0.0] * 50, np.float32),
}


def expected_text(single: np.float32) -> str:
    """NumPy's shortest decimal, spelled as Python spells the double of the same decimal."""
    digits = repr(float(str(single)))
    return SPECIAL.get(digits) or LARGEST_TEXTS.get(digits, digits)


@pytest.mark.parametrize("name", FLOATS)
def test_a_list_of_floats_has_the_text_of_each(name: str) -> None:
    singles = FLOATS[name]
    texts = [expected_text(single) for single in singles]
    expected = '{"floatData": [' + ", ".join(texts) + "]}"
    assert to_json(m.TensorProto(float_data=singles)) == expected
    assert to_json(m.TensorProto(float_data=singles.astype(np.float64).tolist())) == expected
    indented = to_json(m.TensorProto(float_data=singles[:500]), indent=2)
    assert indented == json.dumps({"floatData": []}, indent=2).replace(
        "[]", "[\n    " + ",\n    ".join(texts[:500]) + "\n  ]"
    )


@pytest.mark.parametrize("name", ["all bit patterns", "weights"])
def test_the_text_of_floats_reads_back_as_the_same_floats(name: str) -> None:
    singles = FLOATS[name]
    again = np.array(
        from_json(to_json(m.TensorProto(float_data=singles)), m.TensorProto).float_data, np.float32
    )
    is_nan = np.isnan(singles)
    assert (np.isnan(again) == is_nan).all()
    assert (again.view(np.uint32) == singles.view(np.uint32))[~is_nan].all()


def test_signalling_nans_are_nans() -> None:
    singles = np.full(100, 0x7F800001, np.uint32).view(np.float32)
    assert to_json(m.TensorProto(float_data=singles)) == to_json(m.TensorProto(float_data=[NAN] * 100))
    assert to_json(m.TensorProto(double_data=singles)) == to_json(m.TensorProto(double_data=[NAN] * 100))


def test_single_floats_keep_the_sign_of_zero() -> None:
    texts = [to_json(m.AttributeProto(f=value)) for value in (0.0, -0.0, 0.0, 1, 1.0)]
    assert texts == ['{"f": 0.0}', '{"f": -0.0}', '{"f": 0.0}', '{"f": 1.0}', '{"f": 1.0}']


LISTS: list[Record] = [
    m.TensorProto(float_data=FLOATS["weights"][:200]),
    m.TensorProto(double_data=RNG.standard_normal(200)),
    m.TensorProto(double_data=[*RNG.standard_normal(100).tolist(), NAN, float("-inf"), -0.0]),
    m.TensorProto(float_data=[*[0.5] * 100, NAN, float("inf"), 2.0**-20, 1e7, 2.0**-149]),
    m.TensorProto(int32_data=RNG.integers(-(1 << 31), 1 << 31, 200).tolist()),
    m.TensorProto(int64_data=RNG.integers(-(1 << 63), (1 << 63) - 1, 200)),
    m.TensorProto(uint64_data=[0, 1, (1 << 64) - 1]),
    m.AttributeProto(ints=[-(1 << 63), (1 << 63) - 1]),
    m.NodeProto(input=["", "a", "\u00e9\U0001f600", '"\\u"', "\x7f"]),
]


@pytest.mark.parametrize("record", LISTS)
def test_lists_are_written_as_protobuf_reads_and_writes_them(record: Record) -> None:
    judge = judge_of(type(record))
    message = judge.FromString(encode(record))
    assert json_format.Parse(to_json(record), judge()).SerializeToString() == message.SerializeToString()
    theirs = json.loads(json_format.MessageToJson(message), parse_float=lambda digits: np.float32(digits))
    assert json.loads(to_json(record), parse_float=lambda digits: np.float32(digits)) == theirs
    assert from_json(to_json(record), type(record)) == record


MIXED: list[tuple[Record, str]] = [  # lists whose values are written one by one
    (m.TensorProto(int32_data=[True, 2, False]), '{"int32Data": [1, 2, 0]}'),
    (m.TensorProto(int64_data=[True, np.int8(2)]), '{"int64Data": ["1", "2"]}'),
    (m.TensorProto(float_data=[1, 0.5, np.float32(0.1), True]), '{"floatData": [1.0, 0.5, 0.1, 1.0]}'),
    (m.TensorProto(float_data=np.arange(3)), '{"floatData": [0.0, 1.0, 2.0]}'),
    (m.TensorProto(double_data=[1, 0.1, np.float32(0.5)]), '{"doubleData": [1.0, 0.1, 0.5]}'),
    (m.TensorProto(double_data=np.array([0.1, 2])), '{"doubleData": [0.1, 2.0]}'),
    (m.NodeProto(input=("a", "\u00e9")), '{"input": ["a", "\\u00e9"]}'),
]


@pytest.mark.parametrize(("record", "text"), MIXED)
def test_mixed_lists_are_written_by_value(record: Record, text: str) -> None:
    assert to_json(record) == text


ZEROS = [0.0] * 100
UNWRITABLE: list[tuple[Record, str]] = [
    (m.TensorProto(float_data=[*ZEROS, 1e39]), "float_data[100]: the value must fit in float; got 1e+39"),
    (
        m.TensorProto(float_data=np.array([*ZEROS, -1e39])),
        "float_data[100]: the value must fit in float; got -1e+39",
    ),
    (m.TensorProto(float_data=[*ZEROS, "1"]), "float_data[100]: the value must be float; got str '1'"),
    (m.TensorProto(double_data=[*ZEROS, None]), "double_data[100]: the value must be double; got NoneType None"),
    (m.TensorProto(int32_data=[0, 1 << 31]), "int32_data[1]: the value must fit in int32; got 2147483648"),
    (m.TensorProto(uint64_data=[0, -1]), "uint64_data[1]: the value must fit in uint64; got -1"),
    (m.TensorProto(int64_data=[0, 1.0]), "int64_data[1]: the value must be int64; got float 1.0"),
    (m.TensorProto(dims=["1"]), "dims[0]: the value must be int64; got str '1'"),
    (m.AttributeProto(i=1 << 63), "i: the value must fit in int64; got 9223372036854775808"),
    (m.NodeProto(input=["a", 1]), "input[1]: the value must be string; got int 1"),
    (m.NodeProto(input=["\u00e9", "\udcff"]), "input[1]: a string must be UTF-8 to be written as JSON; got '\\udcff'"),
    (m.NodeProto(name="\udcff"), "name: a string must be UTF-8 to be written as JSON; got '\\udcff'"),
]  # fmt: skip


@pytest.mark.parametrize(("record", "error"), UNWRITABLE)
def test_an_entry_that_json_cannot_hold_is_named(record: Record, error: str) -> None:
    for indent in (None, 2):
        with pytest.raises(JsonError) as raised:
            to_json(record, indent=indent)
        assert str(raised.value) == error


READ: list[tuple[str, Record]] = [
    ('{"int64Data": ["1", 2, 3.0, "4e0"]}', m.TensorProto(int64_data=[1, 2, 3, 4])),
    ('{"int64Data": ["-0", "9223372036854775807"]}', m.TensorProto(int64_data=[0, (1 << 63) - 1])),
    ('{"floatData": [1, 0.5, "NaN", "-Infinity", "2"]}',
     m.TensorProto(float_data=[1.0, 0.5, NAN, float("-inf"), 2.0])),
    ('{"doubleData": [1, 1e300]}', m.TensorProto(double_data=[1.0, 1e300])),
    ('{"floatData": [123456789012345678901234567890]}', m.TensorProto(float_data=[float(np.float32(123456789012345678901234567890.0))])),
]  # fmt: skip


@pytest.mark.parametrize(("text", "record"), READ)
def test_mixed_lists_are_read_by_value(text: str, record: Record) -> None:
    assert from_json(text, type(record)) == record


UNREADABLE = [
    ('{"int32Data": [1, true]}', "int32_data[1]: the value must be an integer; got true"),
    ('{"int64Data": ["1", false]}', "int64_data[1]: the value must be an integer; got false"),
    ('{"floatData": [1.5, true]}', "float_data[1]: the value must be a number; got true"),
    ('{"int64Data": ["1", "01"]}', "int64_data[1]: the value must be an integer; got string '01'"),
    ('{"int64Data": ["1", "1,2"]}', "int64_data[1]: the value must be an integer; got string '1,2'"),
    ('{"int64Data": ["1", "9223372036854775808"]}', "int64_data[1]: the value must fit in int64; got string '92"),
    ('{"int64Data": ["1", "' + "9" * 25 + '"]}', "int64_data[1]: the value must fit in int64; got string '99"),
    ('{"int64Data": [1, ' + "9" * 25 + "]}", "int64_data[1]: the value must fit in int64; got number 1e+25"),
    ('{"int32Data": [1, 2147483648]}', "int32_data[1]: the value must fit in int32; got number 2147483648"),
    ('{"floatData": [1.5, 1e39]}', "float_data[1]: the value must fit in float; got number 1e+39; write NaN"),
    ('{"floatData": [1.5, NaN]}', "float_data[1]: the value must fit in float; got number nan; write NaN"),
    ('{"doubleData": [1, -Infinity]}', "double_data[1]: the value must fit in double; got number -inf; write NaN"),
    ('{"doubleData": [1, ' + "9" * 400 + "]}", "double_data[1]: the value must fit in double; got number inf"),
    ('{"floatData": [1.5, [1]]}', "float_data[1]: the value must be a number; got an array"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "error"), UNREADABLE)
def test_an_entry_that_does_not_fit_is_named(text: str, error: str) -> None:
    with pytest.raises(JsonError) as raised:
        from_json(text, m.TensorProto)
    assert str(raised.value).startswith(error)
