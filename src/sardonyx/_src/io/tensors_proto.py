"""Tensors between records and IR; no element is read on the way."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import numpy as np

from sardonyx._src import dtypes
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.external import ExternalStorage
from sardonyx._src.io.metadata_proto import keep_unknown, metadata_from, metadata_to
from sardonyx._src.io.types_proto import data_type, dims_from
from sardonyx._src.ir.graph import Note
from sardonyx._src.ir.tensors import (
    Array,
    FieldStorage,
    RawStorage,
    SparseTensor,
    Storage,
    StringStorage,
    Tensor,
)
from sardonyx._src.proto import messages as m

FIELDS = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data")
Entries: TypeAlias = list[tuple[str, str]]
Place: TypeAlias = Callable[
    [Tensor], "Entries | None"
]  # external_data of a tensor, or None: it stands inline


class External(Protocol):
    """Finds the data of external tensors."""

    def storage(
        self, entries: Sequence[tuple[str, str]], dtype: DataType, shape: tuple[int, ...], where: str
    ) -> Storage:
        """Where the elements are; raises ExternalDataError when the entries may not be followed."""
        ...


def tensor_from(record: m.TensorProto, external: External, notes: list[Note], where: str) -> Tensor:
    """The tensor of a record; raises InvalidModel when its data do not match its dims and type."""
    if record.name:
        where = f"{where} {record.name!r}"
    dtype = data_type(record.data_type, where)
    shape = dims_from(record.dims, where)
    tensor = Tensor(dtype, shape, storage_from(record, dtype, shape, external, notes, where), record.name)
    tensor.doc = record.doc_string
    if record.has("metadata_props"):
        tensor.metadata = metadata_from(record.metadata_props, notes, where)
    if record.segment is not None:
        tensor.segment = (record.segment.begin, record.segment.end)
    if record.unknown:
        tensor.unknown = record.unknown
    return tensor


def storage_from(
    record: m.TensorProto,
    dtype: DataType,
    shape: tuple[int, ...],
    external: External,
    notes: list[Note],
    where: str,
) -> Storage:
    count = math.prod(shape)
    if record.data_location == m.TensorProtoDataLocation.EXTERNAL:
        entries = [(e.key, e.value) for e in record.external_data]
        return external.storage(entries, dtype, shape, where)
    if record.data_location:
        raise InvalidModel(
            f"data_location {record.data_location} is neither DEFAULT nor EXTERNAL", location=where
        )
    filled = [f for f in (*FIELDS, "string_data") if record.has(f) and len(getattr(record, f))]
    if record.has("raw_data") and (not filled or record.raw_data):
        return raw_storage(record, dtype, count, filled, where)
    if not filled:
        if count:
            raise InvalidModel(
                f"dims {list(shape)} call for {count} elements, and there are none", location=where
            )
        return StringStorage(()) if dtype is DataType.STRING else RawStorage(b"")
    if len(filled) > 1:
        raise InvalidModel(f"the elements stand in {' and '.join(filled)} at once", location=where)
    return typed_storage(record, filled[0], dtype, count, notes, where)


def raw_storage(record: m.TensorProto, dtype: DataType, count: int, filled: list[str], where: str) -> Storage:
    if dtype is DataType.STRING:
        raise InvalidModel("strings cannot stand in raw_data; string_data is their field", location=where)
    if filled:
        raise InvalidModel(f"the elements stand in raw_data and {filled[0]} at once", location=where)
    found, wanted = len(record.raw_data), dtypes.nbytes(dtype, count)
    if found != wanted:
        dims = list(record.dims)
        raise InvalidModel(f"{dtype.text}{dims} takes {wanted} bytes, raw_data has {found}", location=where)
    return RawStorage(record.raw_data)


def typed_storage(
    record: m.TensorProto, field: str, dtype: DataType, count: int, notes: list[Note], where: str
) -> Storage:
    wanted_field = dtypes.field_of(dtype)
    if field != wanted_field:
        raise InvalidModel(
            f"elements of {dtype.text} belong in {wanted_field}, not in {field}", location=where
        )
    values = getattr(record, field)
    wanted = entries_of(dtype, count)
    if len(values) != wanted:
        what = f"{dtype.text}{list(record.dims)} takes {wanted} entries, {field} has {len(values)}"
        raise InvalidModel(what, location=where)
    if dtype is DataType.STRING:
        return StringStorage([bytes(s) for s in values])
    if field == "int32_data" and (codes := unsigned_codes(values, dtype)) is not None:
        notes.append(Note(where, "int32_data holds bit patterns with their sign extended: read without it"))
        return FieldStorage(field, codes)
    return FieldStorage(field, values)


def unsigned_codes(values: Sequence[int] | Array, dtype: DataType) -> Array | None:
    """Bit patterns that a writer took for signed numbers, as the unsigned ones that onnx.proto asks for."""
    if not dtype.is_float and dtype.bits >= 8:
        return None
    width = 8 if dtype.bits in (2, 4) else dtype.bits  # types of 2 and 4 bits come in whole bytes
    codes = np.asarray(values, np.int64)
    if not codes.size or not -(1 << (width - 1)) <= codes.min() < 0 or codes.max() >= 1 << width:
        return None
    return codes & ((1 << width) - 1)


def entries_of(dtype: DataType, count: int) -> int:
    """How many entries of its typed field `count` elements fill: complex ones two, packed ones less than one."""
    if dtype.is_complex:
        return 2 * count
    packs = dtype is not DataType.STRING and dtype.bits in (2, 4)
    return dtypes.nbytes(dtype, count) if packs else count


def tensor_to(tensor: Tensor, place: Place, name: str = "") -> m.TensorProto:
    """The record of a tensor, under its own name or another; its data stay where they are unless they must be packed."""
    record = m.TensorProto(dims=list(tensor.shape), data_type=int(tensor.dtype))
    if name or tensor.name:
        record.name = name or tensor.name
    if tensor.doc:
        record.doc_string = tensor.doc
    if tensor.metadata:
        record.metadata_props = metadata_to(tensor.metadata)
    if tensor.segment:
        record.segment = m.TensorProtoSegment(begin=tensor.segment[0], end=tensor.segment[1])
    if tensor.unknown:
        keep_unknown(record, tensor.unknown)
    entries = place(tensor)
    if entries is not None:
        record.external_data = [m.StringStringEntryProto(key=k, value=v) for k, v in entries]
        record.data_location = int(m.TensorProtoDataLocation.EXTERNAL)
    else:
        set_data(record, tensor)
    return record


def set_data(record: m.TensorProto, tensor: Tensor) -> None:
    storage = tensor.storage
    if isinstance(storage, RawStorage):
        record.raw_data = storage.data
    elif isinstance(storage, FieldStorage):
        setattr(record, storage.field, storage.values)
    elif isinstance(storage, StringStorage):
        record.string_data = list(storage.values)
    elif isinstance(storage, ExternalStorage):
        record.raw_data = storage.view()
    elif tensor.dtype is DataType.STRING:
        record.string_data = [str(s).encode("utf-8", "surrogateescape") for s in tensor.numpy().flat]
    else:
        record.raw_data = dtypes.pack(tensor.numpy(), tensor.dtype)


def sparse_from(
    record: m.SparseTensorProto, external: External, notes: list[Note], where: str
) -> SparseTensor:
    """The sparse tensor of a record; raises InvalidModel where values, indices and dims do not fit each other."""
    if record.values is None:
        raise InvalidModel("a sparse tensor has no values", location=where)
    values = tensor_from(record.values, external, notes, f"{where}.values")
    where = f"{where} {values.name!r}" if values.name else where
    shape = dims_from(record.dims, where)
    if len(values.shape) != 1:
        raise InvalidModel(f"values have dims {list(values.shape)}, which should be [nnz]", location=where)
    if record.indices is None:
        if values.size:
            raise InvalidModel(f"{values.size} stored values have no indices", location=where)
        indices = Tensor(DataType.INT64, (0,), RawStorage(b""))
    else:
        indices = tensor_from(record.indices, external, notes, f"{where}.indices")
    if indices.dtype is not DataType.INT64:
        raise InvalidModel(f"indices are {indices.dtype.text}, which should be int64", location=where)
    if indices.shape not in ((values.size,), (values.size, len(shape))):
        what = f"indices have dims {list(indices.shape)}, which should be [{values.size}] or [{values.size}, {len(shape)}]"
        raise InvalidModel(what, location=where)
    sparse = SparseTensor(values, indices, shape)
    sparse.unknown = record.unknown
    return sparse


def sparse_to(sparse: SparseTensor, place: Place, name: str = "") -> m.SparseTensorProto:
    """The record of a sparse tensor, under its own name or another."""
    record = m.SparseTensorProto(values=tensor_to(sparse.values, place, name), dims=list(sparse.shape))
    if sparse.values.size or sparse.indices.shape != (0,):
        record.indices = tensor_to(sparse.indices, place)
    keep_unknown(record, sparse.unknown)
    return record
