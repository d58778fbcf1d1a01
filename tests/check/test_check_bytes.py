"""Damaged and unexpected bytes in an otherwise sound model."""

from __future__ import annotations

import pytest

from sardonyx._src.check import Diagnostic, check


def varint(number: int) -> bytes:
    low = [number >> shift & 0x7F for shift in range(0, max(number.bit_length(), 1), 7)]
    return bytes([byte | 0x80 for byte in low[:-1]] + low[-1:])


def scalar(field: int, number: int) -> bytes:
    return varint(field << 3) + varint(number)


def fixed_width_field(field: int, data: bytes) -> bytes:
    """The encoding of a field of four or eight bytes."""
    return varint(field << 3 | {4: 5, 8: 1}[len(data)]) + data


def block(field: int, data: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(data)) + data


TYPE = block(1, scalar(1, 1) + block(2, block(1, scalar(1, 2))))  # float[2]
X, Y = (block(1, name) + block(2, TYPE) for name in (b"x", b"y"))
NODE = block(1, b"x") + block(2, b"y") + block(4, b"Abs")
VERSION = scalar(1, 10)
IMPORT = block(8, block(1, b"") + scalar(2, 21))
ORIGIN = block(2, b"p") + block(3, b"1") + block(4, b"com.example")


def graph(node: bytes = NODE, more: bytes = b"") -> bytes:
    return block(7, block(1, node) + block(2, b"g") + block(11, X) + block(12, Y) + more)


def model(
    *, version: bytes = VERSION, body: bytes = graph(), imports: bytes = IMPORT, more: bytes = b""
) -> bytes:
    return version + ORIGIN + body + imports + more


def diagnose(data: bytes) -> list[Diagnostic]:
    return [d for d in check(data).diagnostics if d.severity != "info"]


def test_the_surrounding_model_is_sound() -> None:
    assert check(model()).diagnostics == ()


def test_a_model_cut_anywhere_is_refused() -> None:
    data = model()
    assert [size for size in range(len(data)) if check(data[:size]).ok] == []


DAMAGE = {
    "field number 0": b"\x00\x00",
    "field number 0 of a block": b"\x02\x01a",
    "a tag of 0 at the end": b"\x00",
    "a group that nothing began": b"\x0c",
    "a group without end": b"\x9b\x06",
    "a group with another's end": b"\x9b\x06\x94\x06",
    "a varint of eleven bytes": b"\x98\x06" + b"\xff" * 10 + b"\x01",
    "a varint of more than 64 bits": b"\x98\x06" + b"\xff" * 9 + b"\x7f",
    "wire type 6": b"\x9e\x06",
    "a tag of more than 32 bits": b"\x88\x80\x80\x80\x7f\x0a",
    "a length beyond the message": b"\x9a\x06\x64a",
    "a length of 2^63": b"\x9a\x06" + varint(1 << 63) + b"a",
}


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_is_refused_in_the_model_and_in_its_graph(what: str) -> None:
    for data in (model(more=DAMAGE[what]), DAMAGE[what] + model(), model(body=graph(more=DAMAGE[what]))):
        (diagnostic,) = check(data).diagnostics
        assert (diagnostic.rule, diagnostic.severity) == ("SX001", "error")


@pytest.mark.parametrize(
    "more", [scalar(99, 1), block(99, b"abc"), b"\x9b\x06\x9c\x06", b"\x98\x06" + b"\xff" * 9 + b"\x01"]
)
def test_unknown_fields_are_an_info(more: bytes) -> None:
    assert [(d.rule, d.severity) for d in check(model(more=more)).diagnostics] == [("SX004", "info")]


WRONG = {
    "ir_version as eight bytes": model(version=fixed_width_field(1, b"\x0a" + bytes(7))),
    "ir_version as a block": model(version=block(1, b"\x0a")),
    "graph as a number": model(body=scalar(7, 1)),
    "opset_import as a number": model(imports=scalar(8, 21)),
    "a version as text": model(imports=block(8, block(1, b"") + block(2, b"21"))),
    "op_type as a number": model(body=graph(block(1, b"x") + block(2, b"y") + scalar(4, 1))),
    "model_version as text": model(more=block(5, b"1")),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_field_in_the_encoding_of_another_is_reported_once(what: str) -> None:
    (diagnostic,) = diagnose(WRONG[what])
    assert (diagnostic.rule, diagnostic.severity) == ("SX003", "error")


def test_a_field_in_both_encodings_is_an_info() -> None:
    data = model(more=fixed_width_field(1, b"\x0b" + bytes(7)))
    assert [(d.rule, d.severity) for d in check(data).diagnostics] == [("SX004", "info")]


LATIN = {
    "documentation": model(more=block(6, b"caf\xe9")),
    "half of a pair": model(more=block(6, b"\xed\xa0\x80")),
    "a longer form": model(more=block(6, b"\xc0\xaf")),
    "the name of a node": model(body=graph(NODE + block(3, b"n\xff"))),
    "an operator": model(body=graph(block(1, b"x") + block(2, b"y") + block(4, b"Abs\xff"))),
    "an unused domain": model(more=block(8, block(1, b"com.example\xff") + scalar(2, 1))),
    "metadata": model(more=block(14, block(1, b"com.example.a") + block(2, b"\xff"))),
}


@pytest.mark.parametrize("what", LATIN)
def test_text_that_is_not_utf8_is_reported_once(what: str) -> None:
    (diagnostic,) = diagnose(LATIN[what])
    assert (diagnostic.rule, diagnostic.severity) == ("SX002", "error")
