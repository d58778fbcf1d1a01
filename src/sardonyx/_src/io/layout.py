"""Where the data of a model's tensors go when it is saved: in which data file, at which offset.

Only sizes are needed; no element is read.
Spec: onnx.proto, TensorProto.external_data: offsets should be multiples of 4096, so that data can be mapped.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field

from sardonyx._src import dtypes
from sardonyx._src.dtypes import Buffer, DataType
from sardonyx._src.io.external import ExternalStorage
from sardonyx._src.io.tensors_proto import Entries
from sardonyx._src.ir.tensors import RawStorage, Tensor

SMALL_ALIGN = 64  # bytes; a cache line, and the longest vector that code loads


@dataclass(slots=True)
class DataFile:
    """One file of a layout: its tensors with their offsets, ascending, and its size in bytes."""

    pieces: list[tuple[int, Tensor]] = field(default_factory=list)
    size: int = 0
    checksum: str = ""  # SHA-1 in hexadecimal, once it is known


class Layout:
    """Assigns places in data files to tensors in the order in which they come.

    A tensor of at least `align` bytes starts at a multiple of `align`, a shorter one at a multiple of 64 (or of
    `align`, if that is less).  With `shard_size`, a file that has something in it takes no tensor that would make
    it longer than that many bytes; a tensor never straddles two files.  Tensors with one storage have one place.
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
        self.files: list[DataFile] = []
        self._places: dict[tuple[object, ...], tuple[int, int]] = {}  # number of the file, offset

    def place(self, tensor: Tensor) -> Entries | None:
        """The `external_data` of a tensor, or None when it stands inline; the same each time a tensor is asked for.

        Locations are those of the files so far: with `shard_size`, ask again when all tensors have a place.
        """
        if tensor.dtype is DataType.STRING or not tensor.size or not self.is_external(tensor):
            return None
        source = source_of(tensor)
        if source not in self._places:
            self._places[source] = self.assign(tensor)
        number, offset = self._places[source]
        entries = [
            ("location", self.names()[number]),
            ("offset", str(offset)),
            ("length", str(tensor.nbytes)),
        ]
        if self.files[number].checksum:
            entries.append(("checksum", self.files[number].checksum))
        return entries

    def assign(self, tensor: Tensor) -> tuple[int, int]:
        size = tensor.nbytes
        align = self.align if size >= self.align else min(SMALL_ALIGN, self.align)
        if not self.files:
            self.files.append(DataFile())
        offset = round_up(self.files[-1].size, align)
        if self.shard_size is not None and offset and offset + size > self.shard_size:
            self.files.append(DataFile())
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
    """What two tensors share that are the same bytes: one storage, or one place in a data file."""
    storage = tensor.storage
    if isinstance(storage, ExternalStorage):
        return id(storage.files), storage.location, storage.offset, tensor.nbytes
    return id(storage), tensor.dtype, tensor.nbytes


def packed(tensor: Tensor) -> Buffer:
    """The raw data of a tensor, as they stand where they are stored if they stand packed there."""
    storage = tensor.storage
    if isinstance(storage, RawStorage):
        return storage.data
    if isinstance(storage, ExternalStorage):
        return storage.view()
    return dtypes.pack(tensor.numpy(), tensor.dtype)
