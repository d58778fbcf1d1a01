"""Tensors of a document: their data in a page.

Statistics, pictures and previews are added as long as a budget of elements to read is not spent.
"""

from __future__ import annotations

import base64
import io
import math

import numpy as np

from sardonyx._src import dtypes
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import SardonyxError
from sardonyx._src.io.external import ExternalFiles
from sardonyx._src.io.serde.tensors import tensor_from
from sardonyx._src.ir import Array, Tensor
from sardonyx._src.proto import messages as m
from sardonyx._src.view.page_data import TensorData
from sardonyx._src.view.reading.notes import pairs_of
from sardonyx._src.view.reading.pictures import picture_of
from sardonyx._src.view.reading.statistics import statistics_of
from sardonyx._src.view.reading.types import element_type_text

STATISTICS_ELEMENTS = 1 << 24  # elements of a document that are read for its page
PICTURE_BYTES = 1 << 19  # bytes of all pictures in a page
PREVIEW_ELEMENTS = 8
LITERAL_ELEMENTS = 4  # elements of a constant up to which it is drawn inside the node that reads it
PREVIEW_CHARACTERS = 200
TensorRecord = m.TensorProto | m.SparseTensorProto


class TensorReader:
    """Reads the tensors of a document; facts about data that cannot be read are left out."""

    def __init__(self, files: ExternalFiles, *, weights: bool) -> None:
        """weights: whether the page contains the elements of all tensors."""
        self.files = files
        self.weights = weights
        self.tensors: list[TensorData] = []
        self.records: list[TensorRecord] = []
        self.elements_left = STATISTICS_ELEMENTS
        self.picture_bytes_left = PICTURE_BYTES

    def add(self, record: TensorRecord, name: str = "") -> int:
        """Adds a tensor, and returns its number; name: the name of a tensor whose record has none."""
        is_sparse = isinstance(record, m.SparseTensorProto)
        stored = record.values if isinstance(record, m.SparseTensorProto) else record
        dims = [int(dim) for dim in record.dims]
        tensor = self.read(stored)
        data: TensorData = {
            "name": (stored.name if stored is not None else "") or name,
            "type": element_type_text(stored.data_type) if stored is not None else "?",
            "shape": dims,
            "bytes": byte_size(stored),
            "location": location_of(stored),
            "sparse": is_sparse,
            "preview": "",
            "statistics": None,
            "picture": None,
            "data": None,
        }
        if stored is not None:
            add_notes(data, stored)
        if tensor is not None:
            self.add_elements(data, tensor, is_sparse=is_sparse)
        self.tensors.append(data)
        self.records.append(record)
        return len(self.tensors) - 1

    def read(self, record: m.TensorProto | None) -> Tensor | None:
        """The tensor of a record, whose elements are not yet read; None for an invalid one."""
        if record is None:
            return None
        try:
            return tensor_from(record, self.files, [], "tensor")
        except (SardonyxError, OSError):
            return None

    def add_elements(self, data: TensorData, tensor: Tensor, *, is_sparse: bool) -> None:
        """Adds preview, statistics and picture of the elements, if the budget allows to read them."""
        if tensor.size > self.elements_left and not self.weights:
            return
        array = elements_of(tensor)
        if array is None:
            return
        data["preview"] = preview(array)
        if self.weights:
            data["data"] = base64.b64encode(npy_bytes(array, tensor.dtype)).decode()
        if tensor.size > LITERAL_ELEMENTS and tensor.dtype is not DataType.STRING:
            self.elements_left -= tensor.size
            data["statistics"] = statistics_of(array)
            if not is_sparse and (picture := picture_of(array)) is not None:
                size = picture["width"] * picture["height"]
                if size <= self.picture_bytes_left:
                    self.picture_bytes_left -= size
                    data["picture"] = picture

    def literal(self, number: int) -> str:
        """The text of a small constant; "" for a longer one."""
        data = self.tensors[number]
        if data["sparse"] or math.prod(data["shape"]) > LITERAL_ELEMENTS:
            return ""
        return data["preview"]


def add_notes(data: TensorData, record: m.TensorProto) -> None:
    """Adds documentation and metadata of a tensor, with its segment and the checksum of its external data."""
    if record.doc_string:
        data["documentation"] = record.doc_string
    metadata = pairs_of(record.metadata_props) if record.has("metadata_props") else []
    if record.segment is not None:
        metadata.append(["segment", f"{record.segment.begin} to {record.segment.end}"])
    if record.has("external_data"):
        metadata += [[e.key, e.value] for e in record.external_data if e.key not in ("location", "offset")]
    if metadata:
        data["metadata"] = metadata


def elements_of(tensor: Tensor) -> Array | None:
    """The elements; None if they cannot be read, for example because a file is missing."""
    try:
        return tensor.numpy()
    except (SardonyxError, OSError):
        return None


def byte_size(record: m.TensorProto | None) -> int:
    """The bytes of the packed elements, by type and dims; for strings, the bytes in their record."""
    if record is None:
        return 0
    count = math.prod(int(dim) for dim in record.dims)
    try:
        dtype = DataType.from_number(record.data_type)
        return sum(map(len, record.string_data)) if dtype is DataType.STRING else dtypes.nbytes(dtype, count)
    except (ValueError, SardonyxError):
        return 0


def location_of(record: m.TensorProto | None) -> str:
    """The external file of a tensor, with the offset of its data; "" for data inside the model."""
    if record is None or not record.data_location:
        return ""
    entries = {entry.key: entry.value for entry in record.external_data}
    offset = entries.get("offset", "")
    return entries.get("location", "?") + (f" at {offset}" if offset else "")


def preview(array: Array) -> str:
    """The first elements as text."""
    flat = array.reshape(-1)
    texts = [element_text(value) for value in flat[:PREVIEW_ELEMENTS].tolist()]
    more = ", …" if flat.size > PREVIEW_ELEMENTS else ""
    text = texts[0] if array.ndim == 0 and texts else f"[{', '.join(texts)}{more}]"
    return text if len(text) <= PREVIEW_CHARACTERS else text[: PREVIEW_CHARACTERS - 1] + "…"


def element_text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return repr(value.decode("utf-8", "backslashreplace"))
    return repr(value) if isinstance(value, str) else str(value)


def npy_bytes(array: Array, dtype: DataType) -> bytes:
    """A `.npy` file; elements of types that NumPy lacks are widened to float32, int8 or uint8; strings become `str`."""
    out = io.BytesIO()
    np.save(out, portable(array, dtype), allow_pickle=False)
    return out.getvalue()


def portable(array: Array, dtype: DataType) -> Array:
    """The array in a type that NumPy can read without other packages."""
    if dtype is DataType.STRING:
        return np.array([str(value) for value in array.reshape(-1)], np.str_).reshape(array.shape)
    if array.dtype.isbuiltin == 1:
        return array
    return array.astype(np.float32 if dtype.is_float else np.int8 if dtype.is_signed else np.uint8)
