"""Conversion of tensors between records and IR, without reading elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import numpy as np

from sardonyx._src import dtypes
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.external import ExternalStorage
from sardonyx._src.io.serde.details import difference, entry_differences, own_details, restore
from sardonyx._src.io.serde.metadata import metadata_details, metadata_from, metadata_to
from sardonyx._src.io.serde.types import data_type, dims_from
from sardonyx._src.ir import Array, SparseTensor, Tensor
from sardonyx._src.ir.details import PartKey, SourceDetails
from sardonyx._src.ir.model import Note
from sardonyx._src.ir.tensors import FieldStorage, RawStorage, Storage, StringStorage
from sardonyx._src.proto import messages as m

NUMERIC_FIELDS = ("float_data", "int32_data", "int64_data", "double_data", "uint64_data")
DATA_FIELDS = (*NUMERIC_FIELDS, "string_data", "raw_data")
ExternalEntries: TypeAlias = list[tuple[str, str]]
# Returns the external_data of a tensor, or None if its data are stored inline.
Placement: TypeAlias = Callable[[Tensor], "ExternalEntries | None"]


class ExternalData(Protocol):
    """Resolver of external tensors."""

    def storage(
        self, entries: Sequence[tuple[str, str]], dtype: DataType, shape: tuple[int, ...], where: str
    ) -> Storage:
        """The storage that the entries describe; raises ExternalDataError for entries that are invalid or not allowed."""
        ...


def tensor_from(record: m.TensorProto, external: ExternalData, notes: list[Note], where: str) -> Tensor:
    """The tensor of a record; raises InvalidModel if its data do not match its dims and type."""
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
        if tensor.segment != (0, tensor.size):
            what = f"the segment {record.segment.begin} to {record.segment.end} of a tensor of {tensor.size} elements"
            notes.append(Note(where, f"{what}: ignored, since the tensor has all of them"))
    if has_details(record, tensor):
        tensor.details = tensor_details(record, tensor)
    if record.has("external_data") and not record.data_location:
        notes.append(Note(where, "external_data of a tensor whose data are in the model: ignored"))
    elif record.data_location and any(
        record.has(field) and len(getattr(record, field)) for field in DATA_FIELDS
    ):
        notes.append(Note(where, "elements in the model of a tensor whose data are external: ignored"))
    return tensor


def has_details(record: m.TensorProto, tensor: Tensor) -> bool:
    """Whether the record may have details.  Most records have none: just dims, type, name and elements."""
    return len(record.__dict__) != (4 if tensor.name else 3) or not tensor.size


def tensor_details(record: m.TensorProto, tensor: Tensor) -> SourceDetails | None:
    parts = list(metadata_details(record))
    if record.segment is not None and tensor.segment is not None:
        written = m.TensorProtoSegment(begin=tensor.segment[0], end=tensor.segment[1])
        if part := difference(record.segment, written):
            parts.append((PartKey("segment"), part))
    if record.data_location:
        written_entries = [m.StringStringEntryProto(key=e.key, value=e.value) for e in record.external_data]
        parts += entry_differences("external_data", record.external_data, written_entries)
    is_raw = isinstance(tensor.storage, RawStorage) and not record.data_location
    return own_details(record, ("data_type", "raw_data") if is_raw else ("data_type",), parts)


def storage_from(
    record: m.TensorProto,
    dtype: DataType,
    shape: tuple[int, ...],
    external: ExternalData,
    notes: list[Note],
    where: str,
) -> Storage:
    """The storage of a tensor's elements: external data, raw data or the only typed field that is not empty."""
    count = math.prod(shape)
    if record.data_location == m.TensorProtoDataLocation.EXTERNAL:
        entries = [(e.key, e.value) for e in record.external_data]
        return external.storage(entries, dtype, shape, where)
    if record.data_location:
        raise InvalidModel(
            f"data_location must be DEFAULT or EXTERNAL; got {record.data_location}", location=where
        )
    filled = [f for f in (*NUMERIC_FIELDS, "string_data") if record.has(f) and len(getattr(record, f))]
    if record.has("raw_data") and (not filled or record.raw_data):
        return read_raw_storage(record, dtype, count, filled, where)
    if not filled:
        if count:
            raise InvalidModel(
                f"a tensor with dims {list(shape)} must have {count} elements; got none", location=where
            )
        return StringStorage(()) if dtype is DataType.STRING else RawStorage(b"")
    if len(filled) > 1:
        raise InvalidModel(f"the elements must be in one field; got {' and '.join(filled)}", location=where)
    return read_typed_storage(record, filled[0], dtype, count, notes, where)


def read_raw_storage(
    record: m.TensorProto, dtype: DataType, count: int, filled: list[str], where: str
) -> Storage:
    if dtype is DataType.STRING:
        raise InvalidModel(
            "the elements of a string tensor must be in string_data; got raw_data", location=where
        )
    if filled:
        raise InvalidModel(f"the elements must be in one field; got raw_data and {filled[0]}", location=where)
    actual, expected = len(record.raw_data), dtypes.nbytes(dtype, count)
    if actual != expected:
        dims = list(record.dims)
        raise InvalidModel(
            f"raw_data of {dtype.text}{dims} must have {expected} bytes; got {actual}", location=where
        )
    return RawStorage(record.raw_data)


def read_typed_storage(
    record: m.TensorProto, field: str, dtype: DataType, count: int, notes: list[Note], where: str
) -> Storage:
    expected_field = dtypes.field_of(dtype)
    if field != expected_field:
        raise InvalidModel(
            f"the elements of {dtype.text} must be in {expected_field}; got {field}", location=where
        )
    values = getattr(record, field)
    expected = entries_of(dtype, count)
    if len(values) != expected:
        what = f"{field} of {dtype.text}{list(record.dims)} must have {expected} entries; got {len(values)}"
        raise InvalidModel(what, location=where)
    if dtype is DataType.STRING:
        return StringStorage([bytes(s) for s in values])
    if field == "int32_data" and (codes := unsigned_codes(values, dtype)) is not None:
        notes.append(Note(where, "int32_data has sign-extended bit patterns: the extension is dropped"))
        return FieldStorage(field, codes)
    return FieldStorage(field, values)


def unsigned_codes(values: Sequence[int] | Array, dtype: DataType) -> Array | None:
    """Sign-extended bit patterns as unsigned ones, which onnx.proto requires; None if they need no change."""
    if not dtype.is_float and dtype.bits >= 8:
        return None
    width = 8 if dtype.bits in (2, 4) else dtype.bits  # types of 2 and 4 bits are packed into bytes
    codes = np.asarray(values, np.int64)
    if not codes.size or not -(1 << (width - 1)) <= codes.min() < 0 or codes.max() >= 1 << width:
        return None
    return codes & ((1 << width) - 1)


def entries_of(dtype: DataType, count: int) -> int:
    """The number of entries in the typed field for `count` elements; complex types use two each, packed types share."""
    if dtype.is_complex:
        return 2 * count
    is_packed = dtype is not DataType.STRING and dtype.bits in (2, 4)
    return dtypes.nbytes(dtype, count) if is_packed else count


def tensor_to(tensor: Tensor, placement: Placement, name: str = "") -> m.TensorProto:
    """The record of a tensor, under its own name or `name`; data are shared, not copied, unless they must be packed."""
    record = m.TensorProto(dims=list(tensor.shape), data_type=int(tensor.dtype))
    if name or tensor.name:
        record.name = name or tensor.name
    if tensor.doc:
        record.doc_string = tensor.doc
    if tensor.metadata:
        record.metadata_props = metadata_to(tensor.metadata)
    if tensor.segment:
        record.segment = m.TensorProtoSegment(begin=tensor.segment[0], end=tensor.segment[1])
    entries = placement(tensor)
    if entries is not None:
        record.external_data = [m.StringStringEntryProto(key=k, value=v) for k, v in entries]
        record.data_location = int(m.TensorProtoDataLocation.EXTERNAL)
    else:
        set_data(record, tensor)
    if tensor.details is not None:
        restore(record, tensor.details)
    return record


def set_data(record: m.TensorProto, tensor: Tensor) -> None:
    """Stores the elements of a tensor in its record, in the field in which they are stored already or as raw data."""
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
    record: m.SparseTensorProto, external: ExternalData, notes: list[Note], where: str
) -> SparseTensor:
    """The sparse tensor of a record; raises InvalidModel if values, indices and dims are inconsistent."""
    if record.values is None:
        raise InvalidModel("a sparse tensor must have values; got none", location=where)
    values = tensor_from(record.values, external, notes, f"{where}.values")
    where = f"{where} {values.name!r}" if values.name else where
    shape = dims_from(record.dims, where)
    if len(values.shape) != 1:
        raise InvalidModel(f"the values must have dims [nnz]; got {list(values.shape)}", location=where)
    if record.indices is None:
        if values.size:
            raise InvalidModel(
                f"a sparse tensor with {values.size} values must have indices; got none", location=where
            )
        indices = Tensor(DataType.INT64, (0,), RawStorage(b""))
    else:
        indices = tensor_from(record.indices, external, notes, f"{where}.indices")
    if indices.dtype is not DataType.INT64:
        raise InvalidModel(f"the indices must be int64; got {indices.dtype.text}", location=where)
    if indices.shape not in ((values.size,), (values.size, len(shape))):
        what = f"the indices must have dims [{values.size}] or [{values.size}, {len(shape)}]; got {list(indices.shape)}"
        raise InvalidModel(what, location=where)
    sparse = SparseTensor(values, indices, shape)
    if record.unknown or record.indices is None:
        sparse.details = own_details(record, ("values", "indices"))
    return sparse


def sparse_to(sparse: SparseTensor, placement: Placement, name: str = "") -> m.SparseTensorProto:
    """The record of a sparse tensor, under its own name or `name`."""
    record = m.SparseTensorProto(values=tensor_to(sparse.values, placement, name), dims=list(sparse.shape))
    details = sparse.details
    if sparse.values.size or details is None or not details.omits("indices"):
        record.indices = tensor_to(sparse.indices, placement)
    restore(record, details)
    return record
