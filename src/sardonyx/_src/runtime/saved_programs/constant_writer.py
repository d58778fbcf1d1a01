"""Writes the constants of a program: several threads pack chunks of them, and write each as soon as it is packed.

At most one chunk per thread is in memory, besides the pages of the model's file that are being packed.  The checksum of
what was written is a sum, so that chunks may be written in any order: it notices lost pages and damaged words, as a hash
does, at the speed of memory.  Nobody else may write to an entry of the cache, so that no forgery has to be noticed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress

import numpy as np

from sardonyx._src.compile.program.operands.lazy_constants import (
    MIN_PARALLEL_BYTES,
    LazyConstant,
    available_threads,
    chunk_ranges,
    read_chunk,
)
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import LimitError
from sardonyx._src.io.memory_release import release_pages
from sardonyx._src.io.saving.staging import StagedFile
from sardonyx._src.ir import Array
from sardonyx._src.phases import report_bytes
from sardonyx._src.runtime.saved_programs.word_sum import WORD_MASK, word_sum
from sardonyx._src.threads import start_thread


@dataclass(frozen=True, slots=True)
class ConstantChunk:
    """A part of a constant: its place in the constant, and its offset in the file."""

    content: Array | LazyConstant
    start: int
    size: int
    offset: int


class ConstantWriter:
    """Writes constants to a file.

    constants: the offset of each in the file, and its content; arrays are dense.
    """

    def __init__(self, file: StagedFile, constants: Iterable[tuple[int, Array | LazyConstant]]) -> None:
        self.file = file
        self._lock = threading.Lock()
        self._chunks = iter_chunks(constants)
        self._unwritten: dict[int, int] = {}  # bytes by the id of a constant that is being written
        self._checksum = 0
        self._done = self._total = 0  # bytes
        self._error: BaseException | None = None

    def write(self, total: int) -> int:
        """Writes all constants; returns the sum of the words that were written.  total: their bytes."""
        self._total = total
        count = available_threads() if total >= MIN_PARALLEL_BYTES else 1
        threads = [
            threading.Thread(target=self._write_chunks, name="sardonyx-weights") for _ in range(1, count)
        ]
        with suppress(LimitError):  # fewer threads write as well
            for thread in threads:
                start_thread(thread)
        self._write_chunks()
        for thread in threads:
            self._join(thread)
        if self._error is not None:
            raise self._error
        return self._checksum

    def _join(self, thread: threading.Thread) -> None:
        """Waits for a thread, also if the wait is interrupted: the thread writes to a file that is closed afterwards."""
        while thread.is_alive():
            try:
                thread.join()
            except BaseException as error:  # noqa: BLE001 - the calling thread raises it
                self._error = self._error or error

    def _write_chunks(self) -> None:
        """Writes chunks until there are none, or until a thread has failed."""
        buffer: Array = np.empty(0, np.uint8)
        checksum = 0
        try:
            while (chunk := self._next_chunk()) is not None:
                if isinstance(chunk.content, LazyConstant) and len(buffer) < chunk.size:
                    buffer = np.empty(chunk.size, np.uint8)
                data = read_chunk(chunk.content, chunk.start, chunk.size, buffer)
                checksum += word_sum(data, chunk.offset)
                self.file.write_at(chunk.offset, data.data)
                self._release(chunk, data)
                self._report(chunk.size)
        except BaseException as error:  # noqa: BLE001 - the calling thread raises it
            self._error = self._error or error
        with self._lock:
            self._checksum = (self._checksum + checksum) & WORD_MASK

    def _next_chunk(self) -> ConstantChunk | None:
        with self._lock:
            chunk = None if self._error is not None else next(self._chunks, None)
            if chunk is not None:
                self._unwritten.setdefault(id(chunk.content), chunk.content.nbytes)
            return chunk

    def _report(self, size: int) -> None:
        """Reports the progress; only the calling thread's reports are seen."""
        with self._lock:
            self._done += size
        report_bytes(self._done, self._total)

    def _release(self, chunk: ConstantChunk, data: Array) -> None:
        """Releases the pages of the model's file that were needed for a chunk, or for all chunks of a constant."""
        if not isinstance(chunk.content, LazyConstant):
            release_pages(data)
            return
        with self._lock:
            self._unwritten[id(chunk.content)] -= chunk.size
            is_written = not self._unwritten[id(chunk.content)]
        if is_written:
            release_pages(chunk.content.source)


def iter_chunks(constants: Iterable[tuple[int, Array | LazyConstant]]) -> Iterator[ConstantChunk]:
    """The chunks of all constants.  constants: as of `ConstantWriter`."""
    for offset, content in constants:
        for start, size in chunk_ranges(content):
            yield ConstantChunk(content, start, size, offset + start)
