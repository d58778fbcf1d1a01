"""Records for examples of the textual syntax, and the assertion of one example."""

from __future__ import annotations

from sardonyx._src.proto.messages import (
    StringStringEntryProto,
    TensorProto,
    TensorShapeProto,
    TensorShapeProtoDimension,
    TypeProto,
    TypeProtoTensor,
)
from sardonyx._src.proto.record import Record
from sardonyx._src.proto.text import from_text, to_text

Pair = StringStringEntryProto
Dim = TensorShapeProtoDimension


def tensor_type(elem_type: int = 1, *dims: Dim) -> TypeProto:
    return TypeProto(tensor_type=TypeProtoTensor(elem_type=elem_type, shape=TensorShapeProto(dim=list(dims))))


def tensor(elem_type: int, *dims: int, **fields: object) -> TensorProto:
    return TensorProto(data_type=elem_type, dims=list(dims), **fields)


def assert_example(text: str, record: Record) -> None:
    """Asserts that the text parses to the record, and the record prints as the text."""
    assert from_text(text, type(record)) == record
    printed = to_text(record)
    assert printed == text, printed
