"""Mapped files, whose data are read when they are first used; sessions keep the files mapped.

A file that is shortened while it is mapped loses pages, and reading a lost page ends the process (SIGBUS); a file that
is overwritten in place shows its new content.  Therefore short files are read instead of mapped, and uses of a mapped
file begin with `require_unchanged`.  Nothing protects a use that is under way; `copy=True` of `load` reads all files.

Mapped files can be opened again, so that the system copies ranges of them without touching pages of the map.
"""

from __future__ import annotations

import errno
import mmap
import os
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from sardonyx._src.errors import FileChanged
from sardonyx._src.io.file_stamps import FileStamp
from sardonyx._src.io.open_flags import READ_FLAGS
from sardonyx._src.ir.tensors import ChangeableBuffer

if TYPE_CHECKING:
    from sardonyx._src.proto.record import Payload

# Files of a model up to this total are read at once, in about 5 ms; of longer files, some pages may never be used.
READ_UP_TO_BYTES = 16 << 20


class MappedFile(mmap.mmap, ChangeableBuffer):
    """A read-only map of the first bytes of a file.

    stamp: the stamp of the file when it was mapped.  The map keeps the inode in use, so that a file with the same device
    and inode is the mapped one.
    """

    stamp: FileStamp

    @classmethod
    def from_descriptor(cls, fd: int, size: int, path: str) -> MappedFile:
        """The map of the file at an absolute path, open at `fd`, which may be closed afterwards.

        Raises OSError if the file cannot be mapped or has fewer than `size` bytes.
        """
        stamp = FileStamp.from_descriptor(path, fd)
        try:
            owner = cls(fd, size, access=mmap.ACCESS_READ)
        except ValueError:  # raised by mmap if the file is shorter than `size`
            raise truncated_error() from None
        owner.stamp = stamp
        return owner

    def current_stamp(self) -> FileStamp:
        """The stamp of the file now; the stamp at mapping if its path now refers to another file or to none."""
        try:
            stamp = FileStamp.from_path(self.stamp.path)
        except OSError:
            return self.stamp
        return stamp if stamp.has_same_file(self.stamp) else self.stamp

    def require_unchanged(self) -> None:
        """Raises FileChanged if the file was shortened or overwritten since it was mapped.

        The length of the mapped file is known even if it was renamed; overwriting is noticed by the modification time of
        its path, hence only while the file keeps its name.
        """
        self.require_length()
        stamp = self.stamp
        try:
            status = os.stat(stamp.path)  # no whole stamp, since each run of a session asks
        except OSError:
            return
        is_same_file = status.st_ino == stamp.inode and status.st_dev == stamp.device
        if is_same_file and status.st_mtime_ns != stamp.modified:
            raise self.changed_error("overwritten in place")

    def require_length(self) -> None:
        """Raises FileChanged if the file is now shorter than the map."""
        if self.size() < len(self):
            raise self.changed_error(f"shortened from {len(self)} to {self.size()} bytes")

    def changed_error(self, what: str) -> FileChanged:
        cure = "load it again, with copy=True if its files change while they are in use"
        return FileChanged(f"the file was {what} while it was mapped; {cure}", path=self.stamp.path)

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
    """The mapped file that a payload views, if it is a contiguous view of one."""
    if isinstance(data, memoryview) and isinstance(data.obj, MappedFile) and data.c_contiguous:
        return data.obj
    return None


def map_file(file: BinaryIO, path: str, read_up_to: int = 0) -> memoryview:
    """The content of an open file: a copy, aligned to a page, if it has at most `read_up_to` bytes, else a map.

    path: the absolute path of the file.
    Raises OSError if the file cannot be read or is empty.
    """
    size = os.fstat(file.fileno()).st_size
    if not 0 < size <= read_up_to:
        return memoryview(MappedFile.from_descriptor(file.fileno(), size, path))
    copy = memoryview(mmap.mmap(-1, size))
    file.seek(0)
    if file.readinto(copy) < size:  # type: ignore[attr-defined]  # files of the system have it
        raise truncated_error()
    return copy.toreadonly()


def address_of(view: memoryview) -> int:
    return int(np.frombuffer(view, np.uint8).ctypes.data)


def truncated_error() -> OSError:
    return OSError(errno.EIO, "the file was truncated while it was opened")
