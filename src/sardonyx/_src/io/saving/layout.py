"""Layout of external data files: the file and offset of each tensor of a model that is saved.

Depends on sizes only; no elements are read.
Spec: onnx.proto, TensorProto.external_data: offsets should be multiples of 4096, so that data can be mapped.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import field

from sardonyx._src import dtypes
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import Buffer, DataType
from sardonyx._src.io.external import ExternalStorage
from sardonyx._src.io.serde.tensors import ExternalEntries
from sardonyx._src.ir import Tensor
from sardonyx._src.ir.tensors import RawStorage

SMALL_TENSOR_ALIGN = 64  # bytes: a cache line, and the width of the widest vector load


@dataclass(slots=True)
class DataFileLayout:
    """One data file: its tensors with ascending offsets, and its size in bytes."""

    pieces: list[tuple[int, Tensor]] = field(default_factory=list)
    size: int = 0
    checksum: str = ""  # SHA-1 in hexadecimal, "" until it is known
    had_checksum: bool = False  # whether the data of a tensor come from a file with a stated checksum


class ExternalDataLayout:
    """Assigns byte ranges in data files to tensors, in the order of the calls.

    A tensor of at least `align` bytes starts at a multiple of `align`, a smaller one at a multiple of 64 (or of
    `align`, if that is smaller).  With `shard_size`, a tensor that would make a non-empty file longer than that many
    bytes starts a new file; a tensor never spans two files.  Tensors that share storage share their range.
    """

    def __init__(
        self,
        location: str,
        is_external: Callable[[Tensor], bool],
        *,
        align: int,
        shard_size: int | None = None,
    ) -> None:
        self.location = location
        self.is_external = is_external
        self.align = align
        self.shard_size = shard_size
        self.files: list[DataFileLayout] = []
        self._ranges: dict[
            tuple[object, ...], tuple[int, int]
        ] = {}  # index of the file and offset, by `source_of`

    def place(self, tensor: Tensor) -> ExternalEntries | None:
        """The `external_data` entries of a tensor, or None for inline data; repeated calls return the same range.

        Locations depend on the number of files: with `shard_size`, call again after all tensors are placed.
        """
        if tensor.dtype is DataType.STRING or not tensor.size or not self.is_external(tensor):
            return None
        source = source_of(tensor)
        if source not in self._ranges:
            self._ranges[source] = self.assign(tensor)
        number, offset = self._ranges[source]
        if isinstance(tensor.storage, ExternalStorage) and tensor.storage.checksum:
            self.files[number].had_checksum = True
        entries = [
            ("location", self.names()[number]),
            ("offset", str(offset)),
            ("length", str(tensor.nbytes)),
        ]
        if self.files[number].checksum:
            entries.append(("checksum", self.files[number].checksum))
        return entries

    def assign(self, tensor: Tensor) -> tuple[int, int]:
        """Appends a tensor to the last data file or to a new one; returns the index of the file, and the offset."""
        size = tensor.nbytes
        align = self.align if size >= self.align else min(SMALL_TENSOR_ALIGN, self.align)
        if not self.files:
            self.files.append(DataFileLayout())
        offset = round_up(self.files[-1].size, align)
        if self.shard_size is not None and offset and offset + size > self.shard_size:
            self.files.append(DataFileLayout())
            offset = 0
        file = self.files[-1]
        file.pieces.append((offset, tensor))
        file.size = offset + size
        return len(self.files) - 1, offset

    def names(self) -> list[str]:
        """The location of each file: `location` itself if it is the only one, else as `NAME-00001-of-00003.data`."""
        total = len(self.files)
        if total <= 1:
            return [self.location] * total
        stem, suffix = posixpath.splitext(self.location)
        return [f"{stem}-{number:05}-of-{total:05}{suffix}" for number in range(1, total + 1)]


def round_up(offset: int, align: int) -> int:
    return -(-offset // align) * align


def source_of(tensor: Tensor) -> tuple[object, ...]:
    """The identity of the bytes of a tensor: its storage, or its range in a data file."""
    storage = tensor.storage
    if isinstance(storage, ExternalStorage):
        return id(storage.files), storage.location, storage.offset, tensor.nbytes
    return id(storage), tensor.dtype, tensor.nbytes


def pack_tensor(tensor: Tensor) -> Buffer:
    """The raw data of a tensor; a view of its storage if that is packed."""
    storage = tensor.storage
    if isinstance(storage, RawStorage):
        return storage.view()
    if isinstance(storage, ExternalStorage):
        return storage.view()
    return dtypes.pack(tensor.numpy(), tensor.dtype)
