"""Lazy constants: packed weights that are computed when needed, whole or in chunks while a file is written."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.io.memory_release import release_pages
from sardonyx._src.ir import Array

FLOAT32: np.dtype[np.generic] = np.dtype(np.float32)
MAX_CHUNK_BYTES = (
    4 << 20
)  # bytes computed at a time, unless a single row is longer, so that they stay in the cache


CACHE_LINE_BYTES = 64  # the alignment of buffers
MIN_PARALLEL_BYTES = 32 << 20  # several threads compute a constant of at least this size
MAX_THREADS = 8


@dataclass(frozen=True, slots=True, eq=False)
class LazyConstant:
    """A tensor computed row by row from `source`; the last `row_rank` dims are one row.

    compute_rows(rows, first): fills the uninitialized dense array `rows`, [n, *row_shape], with the rows from `first` on.
    """

    shape: tuple[int, ...]
    row_rank: int
    source: Array
    compute_rows: Callable[[Array, int], None]
    dtype: np.dtype[np.generic] = FLOAT32

    @property
    def row_shape(self) -> tuple[int, ...]:
        return self.shape[len(self.shape) - self.row_rank :]

    @property
    def num_rows(self) -> int:
        """The number of rows."""
        return math.prod(self.shape[: len(self.shape) - self.row_rank])

    @property
    def rows_per_chunk(self) -> int:
        """The number of rows computed at a time."""
        return max(MAX_CHUNK_BYTES // max(math.prod(self.row_shape) * self.dtype.itemsize, 1), 1)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def materialize(self) -> Array:
        """The complete tensor, computed by several threads if it is large."""
        rows = aligned_empty((self.num_rows, *self.row_shape), self.dtype)
        starts = range(0, self.num_rows, self.rows_per_chunk)

        def fill_chunk(first: int) -> None:
            self.fill_rows(rows[first : first + self.rows_per_chunk], first)

        threads = min(len(starts), available_threads()) if self.nbytes >= MIN_PARALLEL_BYTES else 1
        if threads > 1:
            from concurrent.futures import ThreadPoolExecutor  # lazy: few models have constants of this size

            with ThreadPoolExecutor(threads) as pool:
                for _ in pool.map(fill_chunk, starts):
                    pass
        else:
            for first in starts:
                fill_chunk(first)
        release_pages(self.source)
        return rows.reshape(self.shape)

    def iter_chunks(self) -> Iterator[Array]:
        """Chunks of rows in order; each is valid until the next, which reuses its memory."""
        buffer = np.empty((min(self.rows_per_chunk, self.num_rows), *self.row_shape), self.dtype)
        for first in range(0, self.num_rows, self.rows_per_chunk):
            chunk = buffer[: self.num_rows - first]
            self.fill_rows(chunk, first)
            yield chunk
        release_pages(self.source)

    def fill_rows(self, rows: Array, first: int) -> None:
        if rows.size:
            self.compute_rows(rows, first)


def aligned_empty(shape: tuple[int, ...], dtype: np.dtype[np.generic]) -> Array:
    """An uninitialized dense array that begins at a cache line, so that no vector of it spans two lines."""
    size = math.prod(shape) * dtype.itemsize
    memory = np.empty(size + CACHE_LINE_BYTES, np.uint8)
    first = -memory.ctypes.data % CACHE_LINE_BYTES
    return memory[first : first + size].view(dtype).reshape(shape)


def available_threads() -> int:
    """The number of threads for the chunks of a large constant: the processors of this process, at most `MAX_THREADS`."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cpus, MAX_THREADS)


def iter_bytes(content: Array | LazyConstant) -> Iterator[memoryview]:
    """The bytes of a constant in chunks; each is valid until the next."""
    if isinstance(content, LazyConstant):
        yield from (view_as_bytes(chunk).data for chunk in content.iter_chunks())
        return
    array = view_as_bytes(np.ascontiguousarray(content))
    for first in range(0, len(array), MAX_CHUNK_BYTES):
        chunk = array[first : first + MAX_CHUNK_BYTES]
        yield chunk.data
        release_pages(chunk)


def view_as_bytes(array: Array) -> Array:
    """A dense array as its bytes, [nbytes] uint8."""
    return array.reshape(-1).view(np.uint8)
