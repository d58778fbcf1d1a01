"""Contents of an open external data file: in memory, mapped, or read on demand."""

from __future__ import annotations

import io
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Protocol

from sardonyx._src.io.external.digests import BLOCK_BYTES, FILE_DIGESTS, Blocks, read_and_close, sha1_of
from sardonyx._src.io.file_stamps import FileStamp
from sardonyx._src.io.mapped_files import MappedFile, truncated_error
from sardonyx._src.io.memory_release import iter_releasing

# Before Python 3.13 a map holds a descriptor, and some models have one short file for each of thousands of tensors,
# so short files are read instead of mapped.
COPY_UP_TO_BYTES = 1 << 16  # bytes


def open_contents(file: io.FileIO, size: int, path: str, *, copy: bool, read_up_to: int = 0) -> Contents:
    """The first `size` bytes of the file: read immediately, mapped, or read on demand.  Takes ownership of `file`.

    path: the absolute path of the file.
    read_up_to: the size in bytes up to which a file is read immediately; files of up to `COPY_UP_TO_BYTES` always are.
    Raises OSError if the file cannot be mapped or was truncated.
    """
    read_up_to = max(read_up_to, COPY_UP_TO_BYTES)
    if copy and size > COPY_UP_TO_BYTES:
        return OnDemandContents(file, size, path)
    with file:
        if size > read_up_to:
            return MappedContents(MappedFile.from_descriptor(file.fileno(), size, path))
        opened = FileStamp.from_descriptor(path, file.fileno())
        data = read(file, 0, size)
    if len(data) < size:
        raise truncated_error()
    return InMemoryContents(data, opened)


class Contents(Protocol):
    """The bytes of an open file."""

    size: int
    opened: FileStamp  # the stamp of the file when it was opened

    def part(self, offset: int, size: int) -> memoryview:
        """Read-only bytes from `offset`; fewer than `size` if the file was truncated."""
        ...

    def stamp(self) -> FileStamp | None:
        """The stamp of the file now; None for contents that cannot change."""
        ...

    def sha1(self) -> str:
        """The SHA-1 of the whole file, in hexadecimal; computed once while the stamp stays the same."""
        ...

    @property
    def mapped_file(self) -> MappedFile | None:
        """The map of the file, if it is mapped."""
        ...


class InMemoryContents:
    """Contents that were read into memory when the file was opened."""

    def __init__(self, view: memoryview, opened: FileStamp) -> None:
        self.size, self.opened = len(view), opened
        self._view = view
        self._sha1 = ""

    def part(self, offset: int, size: int) -> memoryview:
        return self._view[offset : offset + size]

    def stamp(self) -> None:
        return None

    @property
    def mapped_file(self) -> None:
        return None

    def sha1(self) -> str:
        if not self._sha1:
            self._sha1 = sha1_of([self._view])
        return self._sha1


class MappedContents:
    """Contents of a mapped file: views show what others write to the file."""

    def __init__(self, owner: MappedFile) -> None:
        self.size, self.opened = len(owner), owner.stamp
        self._owner = owner
        self._view = memoryview(owner)
        self._digest = StampedDigest()

    def part(self, offset: int, size: int) -> memoryview:
        return self._view[offset : offset + size]

    def stamp(self) -> FileStamp:
        return self._owner.current_stamp()

    @property
    def mapped_file(self) -> MappedFile:
        return self._owner

    def sha1(self) -> str:
        return self._digest.update(self.stamp(), self.blocks)

    def blocks(self) -> Blocks:
        """The whole file: read without touching pages of the map if it can be opened again, else from released pages."""
        fd = self._owner.reopen()
        return iter_releasing(self._view, BLOCK_BYTES) if fd is None else read_and_close(fd)


class OnDemandContents:
    """Contents that are read from the file on demand."""

    def __init__(self, file: io.FileIO, size: int, path: str) -> None:
        self.size = size
        self._file = file
        self._path = path
        self.opened = self.stamp()
        self._lock = threading.Lock()  # guards the file position
        self._digest = StampedDigest()
        weakref.finalize(self, file.close)

    def part(self, offset: int, size: int) -> memoryview:
        with self._lock:
            return read(self._file, offset, size)

    def stamp(self) -> FileStamp:
        return FileStamp.from_descriptor(self._path, self._file.fileno())

    @property
    def mapped_file(self) -> None:
        return None

    def sha1(self) -> str:
        return self._digest.update(self.stamp(), self.blocks)

    def blocks(self) -> Iterator[memoryview]:
        offset = 0
        while block := self.part(offset, BLOCK_BYTES):
            offset += len(block)
            yield block


class StampedDigest:
    """The digest of a file and the stamp to which it belongs.

    The digest is kept even while the file is racily clean (see `FileStamp`), when `FILE_DIGESTS` keeps none: otherwise
    the file would be hashed for every tensor of a model.
    """

    def __init__(self) -> None:
        self._stamp: FileStamp | None = None
        self._sha1 = ""
        self._lock = threading.Lock()

    def update(self, stamp: FileStamp, blocks: Callable[[], Blocks]) -> str:
        """The SHA-1 of the file; stamp: its stamp now; blocks: reads its content."""
        with self._lock:
            if stamp != self._stamp:
                self._sha1 = FILE_DIGESTS.sha1(stamp, blocks)
                self._stamp = stamp
            return self._sha1


def read(file: io.FileIO, offset: int, size: int) -> memoryview:
    data = memoryview(bytearray(size))
    filled = 0
    file.seek(offset)
    while filled < size and (count := file.readinto(data[filled:])):
        filled += count
    return data[:filled].toreadonly()
