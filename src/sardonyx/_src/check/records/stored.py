"""The types of stored sequences, maps and optionals (onnx-data.proto)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sardonyx._src.check.records.names import element_type
from sardonyx._src.proto.messages import (
    MapProto,
    OptionalProto,
    SequenceProto,
    SparseTensorProto,
    TensorProto,
)
from sardonyx._src.proto.messages import SequenceProtoDataType as Kind
from sardonyx._src.proto.record import Record

VALUE_FIELDS_BY_KIND: dict[
    int, str
] = {  # the fields of an optional; a sequence has the same names in the plural
    Kind.TENSOR: "tensor_value",
    Kind.SPARSE_TENSOR: "sparse_tensor_value",
    Kind.SEQUENCE: "sequence_value",
    Kind.MAP: "map_value",
    Kind.OPTIONAL: "optional_value",
}


def type_of(stored: Record | None) -> tuple[str, ...]:
    """The type as words, outermost first; the first element of a container decides, and no word follows an empty one."""
    words: list[str] = []
    while stored is not None:
        if isinstance(stored, SequenceProto):
            words.append("sequence")
            field = VALUE_FIELDS_BY_KIND.get(stored.elem_type)
            inner = cast("Sequence[Record]", getattr(stored, f"{field}s")) if field else ()
            stored = inner[0] if inner else None
        elif isinstance(stored, MapProto):
            words.append(f"map from {element_type(stored.key_type)}")
            stored = stored.values
        elif isinstance(stored, OptionalProto):
            words.append("optional")
            field = VALUE_FIELDS_BY_KIND.get(stored.elem_type)
            stored = cast("Record | None", getattr(stored, field)) if field else None
        elif isinstance(stored, SparseTensorProto):
            words.append("sparse")
            stored = stored.values
        else:
            assert isinstance(stored, TensorProto), "nothing else is stored"
            return (*words, f"{element_type(stored.data_type)} tensor")
    return tuple(words)


def join_words(words: tuple[str, ...]) -> str:
    return " of ".join(words)
