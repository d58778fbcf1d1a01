"""Conversion of stored data (onnx-data.proto) to runtime values and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias, cast

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.serde.tensors import ExternalData, set_data, sparse_from, sparse_to, tensor_from
from sardonyx._src.io.serde.types import data_type
from sardonyx._src.ir import (
    Array,
    MapType,
    OptionalType,
    SequenceType,
    SparseTensor,
    SparseTensorType,
    Tensor,
    Type,
)
from sardonyx._src.ir.model import Note
from sardonyx._src.proto import messages as m

Datum: TypeAlias = "Array | SparseTensor | list[Datum] | dict[int, Datum] | dict[str, Datum] | None"
DataRecord: TypeAlias = m.TensorProto | m.SparseTensorProto | m.SequenceProto | m.MapProto | m.OptionalProto

SEQUENCE_FIELDS = {
    m.SequenceProtoDataType.TENSOR: "tensor_values",
    m.SequenceProtoDataType.SPARSE_TENSOR: "sparse_tensor_values",
    m.SequenceProtoDataType.SEQUENCE: "sequence_values",
    m.SequenceProtoDataType.MAP: "map_values",
    m.SequenceProtoDataType.OPTIONAL: "optional_values",
}
# The kinds of elements of optionals have the same numbers as those of sequences.
OPTIONAL_FIELDS = {
    m.SequenceProtoDataType.TENSOR: "tensor_value",
    m.SequenceProtoDataType.SPARSE_TENSOR: "sparse_tensor_value",
    m.SequenceProtoDataType.SEQUENCE: "sequence_value",
    m.SequenceProtoDataType.MAP: "map_value",
    m.SequenceProtoDataType.OPTIONAL: "optional_value",
}
# The records of values of types other than tensors.
RECORD_TYPES: dict[type, type[DataRecord]] = {
    SparseTensorType: m.SparseTensorProto,
    SequenceType: m.SequenceProto,
    MapType: m.MapProto,
    OptionalType: m.OptionalProto,
}
ELEMENT_KINDS: dict[type, m.SequenceProtoDataType] = {
    m.TensorProto: m.SequenceProtoDataType.TENSOR,
    m.SparseTensorProto: m.SequenceProtoDataType.SPARSE_TENSOR,
    m.SequenceProto: m.SequenceProtoDataType.SEQUENCE,
    m.MapProto: m.SequenceProtoDataType.MAP,
    m.OptionalProto: m.SequenceProtoDataType.OPTIONAL,
}


def datum_from(record: DataRecord, external: ExternalData, where: str = "data") -> Datum:
    """The runtime value of a record of stored data; raises InvalidModel, with the location, for invalid data."""
    notes: list[Note] = []
    match record:
        case m.TensorProto():
            return tensor_from(record, external, notes, where).numpy()
        case m.SparseTensorProto():
            return sparse_from(record, external, notes, where)
        case m.SequenceProto():
            return list(elements(record, external, where))
        case m.MapProto():
            return map_from(record, external, where)
    return optional_from(record, external, where)


def elements(record: m.SequenceProto, external: ExternalData, where: str) -> Sequence[Datum]:
    if record.elem_type not in SEQUENCE_FIELDS:
        raise InvalidModel(
            f"the element kind of a sequence must be a defined one; got {record.elem_type}", location=where
        )
    name = SEQUENCE_FIELDS[m.SequenceProtoDataType(record.elem_type)]
    return [datum_from(v, external, f"{where}.{name}[{i}]") for i, v in enumerate(getattr(record, name))]


def map_from(record: m.MapProto, external: ExternalData, where: str) -> Datum:
    if record.values is None:
        raise InvalidModel("a map must have values; got none", location=where)
    values = elements(record.values, external, f"{where}.values")
    kind = data_type(record.key_type, where)
    if not kind.is_integer and kind is not DataType.STRING:
        raise InvalidModel(f"the keys of a map must be integers or strings; got {kind.text}", location=where)
    strings = [bytes(k).decode("utf-8", "surrogateescape") for k in record.string_keys]
    keys: list[str] | list[int] = strings if kind is DataType.STRING else [int(k) for k in record.keys]
    if len(keys) != len(values):
        raise InvalidModel(
            f"a map must have as many keys as values; got {len(keys)} keys and {len(values)} values",
            location=where,
        )
    result = dict(zip(keys, values, strict=True))
    if len(result) < len(keys):
        raise InvalidModel(
            f"the keys of a map must be unique; got {len(result)} distinct of {len(keys)}", location=where
        )
    return cast(Datum, result)


def optional_from(record: m.OptionalProto, external: ExternalData, where: str) -> Datum:
    for name in OPTIONAL_FIELDS.values():
        value = getattr(record, name)
        if value is not None:
            return datum_from(value, external, f"{where}.{name}")
    return None


def record_type(declared: Type | None) -> type[DataRecord]:
    """The class of the records that store values of a type; TensorProto if the type is not known."""
    return RECORD_TYPES.get(type(declared), m.TensorProto)


def datum_to(value: Datum, name: str = "", declared: Type | None = None) -> DataRecord:
    """The record that stores a value.

    declared: the type, if it is known: a value of an optional type is stored as an optional, and an empty sequence or
    map with the kind of its declared elements.  Without it, None is stored as an empty optional, and an empty sequence
    as a sequence of tensors.
    """
    if value is None or isinstance(declared, OptionalType):
        return optional_to(value, name, declared.elem if isinstance(declared, OptionalType) else None)
    if isinstance(value, np.ndarray | np.generic):
        tensor = Tensor.of(np.asarray(value), name=name)
        record = m.TensorProto(dims=list(tensor.shape), data_type=int(tensor.dtype))
        if name:
            record.name = name
        set_data(record, tensor)
        return record
    if isinstance(value, SparseTensor):
        return sparse_to(value, lambda tensor: None)
    if isinstance(value, list):
        return sequence_to(value, name, declared.elem if isinstance(declared, SequenceType) else None)
    return map_to(value, name, declared if isinstance(declared, MapType) else None)


def optional_to(value: Datum, name: str, elem: Type | None) -> m.OptionalProto:
    """The record of an optional; an empty one states no kind of element, which is how `onnx.numpy_helper` reads it."""
    result = m.OptionalProto(name=name) if name else m.OptionalProto()
    if value is not None:
        record = datum_to(value, declared=elem)
        kind = ELEMENT_KINDS[type(record)]
        result.elem_type = int(kind)
        result.set(OPTIONAL_FIELDS[kind], record)
    return result


def map_to(
    value: Mapping[str, Datum] | Mapping[int, Datum], name: str, declared: MapType | None
) -> m.MapProto:
    values = sequence_to([*value.values()], elem=None if declared is None else declared.value)
    result = m.MapProto(values=values)
    if name:
        result.name = name
    kind = DataType.STRING if any(isinstance(key, str) for key in value) else DataType.INT64
    kind = kind if declared is None else declared.key
    result.key_type = int(kind)
    if kind is DataType.STRING:
        result.string_keys = [str(key).encode("utf-8", "surrogateescape") for key in value]
    else:
        result.keys = [int(key) for key in value]
    return result


def sequence_to(values: Sequence[Datum], name: str = "", elem: Type | None = None) -> m.SequenceProto:
    records = [datum_to(value, declared=elem) for value in values]
    kind = ELEMENT_KINDS[type(records[0]) if records else record_type(elem)]
    record = m.SequenceProto(elem_type=int(kind))
    if name:
        record.name = name
    record.set(SEQUENCE_FIELDS[kind], records)
    return record
