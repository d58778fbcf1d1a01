"""Lazy constants: packed weights that are computed when needed, whole or in chunks while a file is written."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.io.memory_release import release_pages
from sardonyx._src.ir import Array
from sardonyx._src.threads import affinity_count

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
        return max(MAX_CHUNK_BYTES // max(row_bytes(self), 1), 1)

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
    return min(affinity_count(), MAX_THREADS)


def chunk_ranges(content: Array | LazyConstant) -> Iterator[tuple[int, int]]:
    """The offsets and sizes in bytes of the chunks in which `read_chunk` reads a constant."""
    chunk_bytes = MAX_CHUNK_BYTES
    if isinstance(content, LazyConstant):
        chunk_bytes = content.rows_per_chunk * row_bytes(content)
    for start in range(0, content.nbytes, max(chunk_bytes, 1)):
        yield start, min(chunk_bytes, content.nbytes - start)


def read_chunk(content: Array | LazyConstant, start: int, size: int, buffer: Array) -> Array:
    """The bytes of a chunk, [size] uint8: in `buffer` if they are computed, else a view of the array.

    content: a lazy constant, or a dense array.
    start, size: as of `chunk_ranges`.
    buffer: uint8, with room for the chunk.
    """
    if not isinstance(content, LazyConstant):
        return view_as_bytes(content)[start : start + size]
    chunk = buffer[:size]
    rows = chunk.view(content.dtype).reshape(-1, *content.row_shape)
    content.fill_rows(rows, start // row_bytes(content))
    return chunk


def row_bytes(constant: LazyConstant) -> int:
    return math.prod(constant.row_shape) * constant.dtype.itemsize


def iter_bytes(content: Array | LazyConstant) -> Iterator[memoryview]:
    """The bytes of a constant in chunks; each is valid until the next."""
    dense = content if isinstance(content, LazyConstant) else np.ascontiguousarray(content)
    buffer: Array = np.empty(0, np.uint8)
    for start, size in chunk_ranges(dense):
        if isinstance(dense, LazyConstant) and len(buffer) < size:
            buffer = np.empty(size, np.uint8)
        chunk = read_chunk(dense, start, size, buffer)
        yield chunk.data
        if not isinstance(dense, LazyConstant):
            release_pages(chunk)
    if isinstance(dense, LazyConstant):
        release_pages(dense.source)


def view_as_bytes(array: Array) -> Array:
    """A dense array as its bytes, [nbytes] uint8."""
    return array.reshape(-1).view(np.uint8)
