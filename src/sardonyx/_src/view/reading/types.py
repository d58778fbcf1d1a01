"""Types in records, valid or not, as text: `float32[N, 3, 224, 224]`."""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.proto import messages as m
from sardonyx._src.view.page_data import Pair

MAX_DEPTH = 32  # types inside each other that are written out
WIDE_NAMES = {DataType.FLOAT: "float32", DataType.DOUBLE: "float64"}


def element_type_text(number: int) -> str:
    """The name of an element type with its width; a number that is no element type is written as it is."""
    try:
        dtype = DataType.from_number(number)
    except ValueError:
        return f"type {number}"
    return "?" if dtype is DataType.UNDEFINED else WIDE_NAMES.get(dtype, dtype.text)


def type_text(record: m.TypeProto | None, depth: int = 0) -> str:
    """The text of a type; "" for no type, `?` for a part that is not stated."""
    if record is None or depth > MAX_DEPTH:
        return ""
    if record.tensor_type is not None:
        return tensor_text(record.tensor_type)
    if record.sparse_tensor_type is not None:
        return f"sparse_tensor({tensor_text(record.sparse_tensor_type)})"
    if record.sequence_type is not None:
        return f"seq({type_text(record.sequence_type.elem_type, depth + 1) or '?'})"
    if record.optional_type is not None:
        return f"optional({type_text(record.optional_type.elem_type, depth + 1) or '?'})"
    if record.map_type is not None:
        key = element_type_text(record.map_type.key_type)
        return f"map({key}, {type_text(record.map_type.value_type, depth + 1) or '?'})"
    if record.opaque_type is not None:
        return f"opaque({record.opaque_type.domain}, {record.opaque_type.name})"
    return ""


def tensor_text(record: m.TypeProtoTensor | m.TypeProtoSparseTensor) -> str:
    element = element_type_text(record.elem_type)
    return element if record.shape is None else f"{element}[{', '.join(map(dim_text, record.shape.dim))}]"


def dim_text(record: m.TensorShapeProtoDimension) -> str:
    return str(record.dim_value) if record.has("dim_value") else record.dim_param or "?"


def denotation_pairs(record: m.TypeProto | None) -> list[Pair]:
    """The denotations of a type and of its dims, each with a label."""
    if record is None:
        return []
    tensor = record.tensor_type or record.sparse_tensor_type
    dims = [dim.denotation for dim in tensor.shape.dim] if tensor is not None and tensor.shape else []
    pairs = [["denotation", record.denotation]] if record.denotation else []
    return (
        [*pairs, ["denotations of the dims", ", ".join(dim or "-" for dim in dims)]] if any(dims) else pairs
    )


def is_open(text: str) -> bool:
    """Whether a type leaves a part unstated, which inference may find."""
    return "?" in text or not text.endswith((")", "]"))
