"""Mapped files that can be opened again, so that the system copies ranges of them without touching pages of the map."""

from __future__ import annotations

import errno
import mmap
import os
import sys
from typing import BinaryIO

import numpy as np

from sardonyx._src.io.file_stamps import FileStamp
from sardonyx._src.io.open_flags import READ_FLAGS
from sardonyx._src.proto.record import Payload


class MappedFile(mmap.mmap):
    """A read-only map of the first bytes of a file.

    stamp: of the file when it was mapped.  The map keeps the inode in use, so that a file with the same device and
    inode is the mapped one.
    """

    stamp: FileStamp

    @classmethod
    def from_descriptor(cls, fd: int, size: int, path: str) -> MappedFile:
        """The map of the file at an absolute path, open at `fd`, which may be closed afterwards.

        Raises OSError if the file cannot be mapped or has fewer than `size` bytes.
        """
        stamp = FileStamp.from_descriptor(path, fd)
        try:
            if sys.version_info >= (3, 13):
                owner = cls(fd, size, access=mmap.ACCESS_READ, trackfd=False)
            else:
                owner = cls(fd, size, access=mmap.ACCESS_READ)
        except ValueError:  # raised by mmap if the file is shorter than `size`
            raise truncated_error() from None
        owner.stamp = stamp
        return owner

    def current_stamp(self) -> FileStamp:
        """The stamp of the file now; that at mapping if its path refers to another file or to none."""
        try:
            stamp = FileStamp.from_path(self.stamp.path)
        except OSError:
            return self.stamp
        return stamp if stamp.has_same_file(self.stamp) else self.stamp

    def reopen(self) -> int | None:
        """A read descriptor of the mapped file; None if its path refers to another file or to none."""
        path = self.stamp.path
        try:
            # Before opening, because opening a device can have side effects.
            if not FileStamp.from_path(path).has_same_file(self.stamp):
                return None
            fd = os.open(path, READ_FLAGS)
        except OSError:
            return None
        if FileStamp.from_descriptor(path, fd).has_same_file(self.stamp):
            return fd
        os.close(fd)
        return None

    def offset_of(self, view: memoryview) -> int:
        """The offset in the file of a contiguous view of this map."""
        return address_of(view) - address_of(memoryview(self))


def mapped_file_behind(data: Payload) -> MappedFile | None:
    """The mapped file of which a payload is a contiguous view."""
    if isinstance(data, memoryview) and isinstance(data.obj, MappedFile) and data.c_contiguous:
        return data.obj
    return None


def map_file(file: BinaryIO, path: str) -> mmap.mmap:
    """A map of a whole open file, at an absolute path."""
    return MappedFile.from_descriptor(file.fileno(), os.fstat(file.fileno()).st_size, path)


def address_of(view: memoryview) -> int:
    return int(np.frombuffer(view, np.uint8).ctypes.data)


def truncated_error() -> OSError:
    return OSError(errno.EIO, "the file was truncated while it was opened")
