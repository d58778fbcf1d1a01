"""Contents of an open external data file: in memory, mapped, or read on demand."""

from __future__ import annotations

import errno
import hashlib
import io
import mmap
import sys
import threading
import weakref
from typing import Protocol

# Before Python 3.13 a map holds a descriptor, and some models have one short file for each of thousands of tensors,
# so short files are read instead of mapped.
COPY_UP_TO_BYTES = 1 << 16  # bytes
HASH_BLOCK_BYTES = 1 << 20  # bytes hashed at a time


def open_contents(file: io.FileIO, size: int, *, copy: bool) -> Contents:
    """The first `size` bytes of the file: read immediately, mapped, or read on demand.  Takes ownership of `file`.

    Raises OSError if the file cannot be mapped or was truncated.
    """
    if copy and size > COPY_UP_TO_BYTES:
        return OnDemandContents(file, size)
    with file:
        if size > COPY_UP_TO_BYTES:
            return InMemoryContents(map_file(file, size))
        data = read(file, 0, size)
    if len(data) < size:
        raise truncated_error()
    return InMemoryContents(data)


class Contents(Protocol):
    """The bytes of an open file."""

    size: int

    def part(self, offset: int, size: int) -> memoryview:
        """Read-only bytes from `offset`; fewer than `size` if the file was truncated."""
        ...

    def sha1(self) -> str: ...


class InMemoryContents:
    """Contents that were read or mapped."""

    def __init__(self, view: memoryview) -> None:
        self.size = len(view)
        self._view = view
        self._sha1 = ""

    def part(self, offset: int, size: int) -> memoryview:
        return self._view[offset : offset + size]

    def sha1(self) -> str:
        if not self._sha1:
            self._sha1 = hashlib.sha1(self._view, usedforsecurity=False).hexdigest()
        return self._sha1


class OnDemandContents:
    """Contents that are read from the file on demand."""

    def __init__(self, file: io.FileIO, size: int) -> None:
        self.size = size
        self._file = file
        self._lock = threading.Lock()  # guards the file position
        self._sha1 = ""
        weakref.finalize(self, file.close)

    def part(self, offset: int, size: int) -> memoryview:
        with self._lock:
            return read(self._file, offset, size)

    def sha1(self) -> str:
        if not self._sha1:
            digest = hashlib.sha1(usedforsecurity=False)
            for offset in range(0, self.size, HASH_BLOCK_BYTES):
                digest.update(self.part(offset, min(HASH_BLOCK_BYTES, self.size - offset)))
            self._sha1 = digest.hexdigest()
        return self._sha1


def read(file: io.FileIO, offset: int, size: int) -> memoryview:
    data = memoryview(bytearray(size))
    filled = 0
    file.seek(offset)
    while filled < size and (count := file.readinto(data[filled:])):
        filled += count
    return data[:filled].toreadonly()


def map_file(file: io.FileIO, size: int) -> memoryview:
    """A read-only view of the mapped file; the view outlives the file object."""
    try:
        if sys.version_info >= (3, 13):
            return memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ, trackfd=False))
        return memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ))
    except ValueError:  # raised by mmap if the file is shorter than `size`
        raise truncated_error() from None


def truncated_error() -> OSError:
    return OSError(errno.EIO, "the file was truncated while it was opened")
