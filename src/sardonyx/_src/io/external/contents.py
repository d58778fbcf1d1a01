"""The bytes of an open data file."""

from __future__ import annotations

import errno
import hashlib
import io
import mmap
import sys
import threading
import weakref
from typing import Protocol

# A map holds a descriptor of its own before Python 3.13, and there are models with a file for each of thousands of
# tensors; most of those are short.
READ_UP_TO = 1 << 16  # bytes
BLOCK = 1 << 20  # bytes; of what is hashed at once


def contents_of(file: io.FileIO, size: int, *, copy: bool) -> Contents:
    """The first `size` bytes of the file, which belongs to the result: read at once, mapped, or read when asked for.

    Raises OSError when the file cannot be mapped, or has become shorter.
    """
    if copy and size > READ_UP_TO:
        return Unread(file, size)
    with file:
        if size > READ_UP_TO:
            return InMemory(mapped(file, size))
        data = read(file, 0, size)
    if len(data) < size:
        raise cut_short()
    return InMemory(data)


class Contents(Protocol):
    """The bytes of an open file."""

    size: int

    def part(self, offset: int, size: int) -> memoryview:
        """Bytes from `offset`, read-only; fewer than `size` where the file has become shorter."""
        ...

    def sha1(self) -> str: ...


class InMemory:
    """Contents that were read, or are mapped."""

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


class Unread:
    """Contents that are read from the file when they are asked for."""

    def __init__(self, file: io.FileIO, size: int) -> None:
        self.size = size
        self._file = file
        self._lock = threading.Lock()  # the file has one position
        self._sha1 = ""
        weakref.finalize(self, file.close)

    def part(self, offset: int, size: int) -> memoryview:
        with self._lock:
            return read(self._file, offset, size)

    def sha1(self) -> str:
        if not self._sha1:
            digest = hashlib.sha1(usedforsecurity=False)
            for offset in range(0, self.size, BLOCK):
                digest.update(self.part(offset, min(BLOCK, self.size - offset)))
            self._sha1 = digest.hexdigest()
        return self._sha1


def read(file: io.FileIO, offset: int, size: int) -> memoryview:
    data = memoryview(bytearray(size))
    filled = 0
    file.seek(offset)
    while filled < size and (count := file.readinto(data[filled:])):
        filled += count
    return data[:filled].toreadonly()


def mapped(file: io.FileIO, size: int) -> memoryview:
    """The file as a read-only view, which outlives the file object."""
    try:
        if sys.version_info >= (3, 13):
            return memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ, trackfd=False))
        return memoryview(mmap.mmap(file.fileno(), size, access=mmap.ACCESS_READ))
    except ValueError:  # how mmap says that the file has fewer bytes
        raise cut_short() from None


def cut_short() -> OSError:
    return OSError(errno.EIO, "it was cut short while it was opened")
