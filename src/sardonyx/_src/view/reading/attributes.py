"""Attributes of nodes, as text, tensors and graphs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from sardonyx._src.proto import messages as m
from sardonyx._src.proto.text.print_attributes import value_field
from sardonyx._src.proto.text.words import NAMES_OF_ATTRIBUTE_TYPES
from sardonyx._src.schema import OpSchema
from sardonyx._src.schema.signature import Default
from sardonyx._src.view.page_data import AttributeData
from sardonyx._src.view.reading.types import element_type_text, type_text

MAX_LIST_CHARACTERS = 200
MAX_TEXT_CHARACTERS = 2000
TENSOR_FIELDS = ("t", "tensors", "sparse_tensor", "sparse_tensors")
GRAPH_FIELDS = ("g", "graphs")
VALUE_FIELDS = (
    "f", "i", "s", "t", "g", "floats", "ints", "strings", "tensors", "graphs", "tp", "type_protos",
    "sparse_tensor", "sparse_tensors",
)  # fmt: skip


def field_of(record: m.AttributeProto) -> str:
    """The field with the value of an attribute: the field for its type or, if it states no type, the field that is set."""
    field = value_field(record)
    if field or record.type:
        return field
    return next((name for name in VALUE_FIELDS if record.has(name) and is_filled(record, name)), "")


def is_filled(record: m.AttributeProto, name: str) -> bool:
    return not m.AttributeProto.BY_NAME[name].repeated or len(getattr(record, name)) > 0


def tensors_of(record: m.AttributeProto, name: str) -> list[m.TensorProto | m.SparseTensorProto]:
    """The tensors of an attribute, from its field of this name."""
    match name:
        case "t":
            return [record.t] if record.t is not None else []
        case "sparse_tensor":
            return [record.sparse_tensor] if record.sparse_tensor is not None else []
        case "tensors":
            return [*record.tensors]
    return [*record.sparse_tensors]


def graphs_of(record: m.AttributeProto, name: str) -> list[m.GraphProto]:
    """The graphs of an attribute, from its field of this name."""
    return record.graphs if name == "graphs" else [record.g] if record.g is not None else []


def type_name(record: m.AttributeProto, field: str) -> str:
    """The name of the type of an attribute; "reference" if it refers to an attribute of the enclosing function."""
    if field == "ref_attr_name":
        return "reference"
    return (
        NAMES_OF_ATTRIBUTE_TYPES.get(record.type, f"type {record.type}")
        if record.type
        else field or "undefined"
    )


def value_text(record: m.AttributeProto, field: str) -> str:
    """The value as text; numbers are complete, long lists are cut."""
    if not field:
        return ""
    if field == "ref_attr_name":
        return f"@{record.ref_attr_name}"
    value = getattr(record, field)
    if not m.AttributeProto.BY_NAME[field].repeated:
        return item_text(value)
    return list_text(value)


def list_text(values: Sequence[object]) -> str:
    """The items of a list in brackets, cut after some characters."""
    texts: list[str] = []
    length = 0
    for value in values:
        text = item_text(value)
        length += len(text) + 2
        if length > MAX_LIST_CHARACTERS:
            return f"[{', '.join(texts)}{', ' if texts else ''}… {len(values)} items]"
        texts.append(text)
    return f"[{', '.join(texts)}]"


def item_text(value: object) -> str:
    """The text of a single value of an attribute."""
    if isinstance(value, float | np.floating):
        return number_text(float(value))
    if isinstance(value, bytes | memoryview):
        text = bytes(value).decode("utf-8", "backslashreplace")
        return json.dumps(cut(text), ensure_ascii=False)
    if isinstance(value, m.TensorProto):
        return tensor_type_text(value.data_type, value.dims)
    if isinstance(value, m.SparseTensorProto):
        number = value.values.data_type if value.values is not None else 0
        return f"sparse_tensor({tensor_type_text(number, value.dims)})"
    if isinstance(value, m.GraphProto):
        return f"graph {json.dumps(cut(value.name), ensure_ascii=False)} of {len(value.node)} nodes"
    return type_text(value) if isinstance(value, m.TypeProto) else str(value)


@cache
def number_text(value: float) -> str:
    """The shortest text that reads back as the same float32."""
    text = str(np.float32(value))
    return text.removesuffix(".0") if "e" not in text else text


def tensor_type_text(number: int, dims: Iterable[int]) -> str:
    return f"{element_type_text(number)}[{', '.join(str(dim) for dim in dims)}]"


def cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT_CHARACTERS else f"{text[:MAX_TEXT_CHARACTERS]}…"


def default_attributes(schema: OpSchema, stated: Iterable[str]) -> list[AttributeData]:
    """The defaults of the schema for the attributes that a node does not state."""
    names = set(stated)
    return [
        {"name": a.name, "type": a.type.lower(), "text": default_text(a.default), "isDefault": True}
        for a in schema.attributes.values()
        if a.default is not None and a.name not in names
    ]


def default_text(value: Default) -> str:
    return list_text(value) if isinstance(value, tuple) else item_text(value)
