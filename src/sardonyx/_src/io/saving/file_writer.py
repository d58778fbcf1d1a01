"""Writing payloads to a file: the system copies ranges of mapped files, and writeback to disk starts early."""

from __future__ import annotations

import ctypes
import errno
import io
import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Protocol

from sardonyx._src.io.mapped_files import MappedFile, mapped_file_behind
from sardonyx._src.io.memory_release import iter_releasing
from sardonyx._src.proto.record import Payload

# Bytes from which a payload is copied from its file; shorter ones are written from the map.
COPY_FROM_BYTES = 1 << 16
WRITEBACK_BYTES = 16 << 20  # written between two requests for writeback
WRITE_BLOCK_BYTES = 4 << 20  # written from memory at a time
READ_BLOCK_BYTES = 1 << 18  # read at a time where the system does not copy; stays in the processor's cache
SYNC_FILE_RANGE_WRITE = 2
# Errors by which a system or a file system says that it does not copy between these files.
NOT_COPIED = {
    errno.EXDEV,
    errno.EINVAL,
    errno.ENOSYS,
    errno.EOPNOTSUPP,
    errno.EPERM,
    errno.ETXTBSY,
}


class BinaryWriter(Protocol):
    """A binary file object, buffered or not."""

    def write(self, data: Payload, /) -> int | None: ...


class FileWriter:
    """Writes payloads at the position of a new file.

    A view of a mapped file is copied from the file, without touching pages of the map.  If the file can no longer be
    opened, it is written from the map, and pages are released after they were written.
    """

    def __init__(self, file: io.FileIO) -> None:
        self._file = file
        self._sources: dict[int, CopySource] = {}  # by the id of the mapped file
        self._flushed = 0  # the position up to which writeback was requested

    def write(self, data: Payload) -> None:
        """Writes all bytes; raises OSError."""
        view = memoryview(data).cast("B")
        owner = mapped_file_behind(data) if len(view) >= COPY_FROM_BYTES else None
        source = None if owner is None else self._source_of(owner)
        if source is not None:
            self._copy(source, source.owner.offset_of(view), len(view))
            return
        for block in iter_releasing(view, WRITE_BLOCK_BYTES):
            write_all(self._file, block)
            self._request_writeback()

    def _copy(self, source: CopySource, offset: int, size: int) -> None:
        end = offset + size
        while offset < end:
            offset += source.copy_block(self._file, offset, min(end - offset, WRITEBACK_BYTES))
            self._request_writeback()

    def _source_of(self, owner: MappedFile) -> CopySource | None:
        """The file of a map; None if it cannot be opened again."""
        if id(owner) not in self._sources:
            fd = owner.reopen() if hasattr(os, "preadv") else None
            if fd is None:
                return None
            self._sources[id(owner)] = CopySource(owner, fd)
        return self._sources[id(owner)]

    def _request_writeback(self) -> None:
        """Has the system begin to write new data to disk, which a later fsync then need not wait for."""
        position = self._file.tell()
        if position - self._flushed >= WRITEBACK_BYTES:
            start_writeback = load_sync_file_range()
            if start_writeback is not None:  # best effort: fsync reports errors
                start_writeback(
                    self._file.fileno(), self._flushed, position - self._flushed, SYNC_FILE_RANGE_WRITE
                )
            self._flushed = position

    def close(self) -> None:
        """Closes the files that were copied from; the written file stays open."""
        for source in self._sources.values():
            os.close(source.fd)
        self._sources.clear()


class CopySource:
    """A mapped file, open at `fd`, from which ranges are copied to another file."""

    def __init__(self, owner: MappedFile, fd: int) -> None:
        self.owner = owner
        self.fd = fd
        self._system_copies = hasattr(os, "copy_file_range")
        self._buffer = memoryview(b"")

    def copy_block(self, file: io.FileIO, offset: int, size: int) -> int:
        """Copies at most `size` bytes, and at least one, to the position of another file; returns their number.

        Raises OSError, also if the mapped file now ends before `offset`: reading its map there would end the process.
        """
        if self._system_copies and (count := self._copy_by_system(file, offset, size)):
            return count
        self._system_copies = False
        self._buffer = self._buffer or memoryview(bytearray(READ_BLOCK_BYTES))
        count = os.preadv(self.fd, [self._buffer[:size]], offset)
        if not count:
            raise OSError(
                errno.EIO, "a data file was truncated while the model was saved; load the model again"
            )
        write_all(file, self._buffer[:count])
        return count

    def _copy_by_system(self, file: io.FileIO, offset: int, size: int) -> int:
        """The number of bytes that the system copied; 0 if it does not copy between these files."""
        try:
            return os.copy_file_range(self.fd, file.fileno(), size, offset)
        except OSError as error:
            if error.errno not in NOT_COPIED:
                raise
            return 0


@cache
def load_sync_file_range() -> Callable[[int, int, int, int], int] | None:
    """`sync_file_range` of the C library; None on systems other than Linux."""
    function = getattr(ctypes.CDLL(None), "sync_file_range", None) if sys.platform == "linux" else None
    if function is not None:
        function.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]
    return function


def write_all(file: BinaryWriter, data: Payload) -> None:
    """Writes every byte; repeats partial writes."""
    rest = memoryview(data).cast("B")
    while rest:
        count = file.write(rest)
        if count is None:
            raise BlockingIOError(
                errno.EAGAIN,
                "the file object must be blocking; got no byte count from write; pass a blocking one",
            )
        rest = rest[count:]
