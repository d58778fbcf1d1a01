"""Releasing memory to the system: pages of mapped files, and freed heap memory."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Iterable, Iterator

import numpy as np

from sardonyx._src.ir import Array, Tensor
from sardonyx._src.ir.tensors import RawStorage

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of mallopt
RETAINED_BLOCKS = 4  # at the end of the heap, for further use


def release_pages(array: Array) -> None:
    """Releases the resident pages of the mapped file that an array views; they are read again on access."""
    owner = mapped_file_of(array)
    if owner is None:
        return
    low, high = np.lib.array_utils.byte_bounds(array)
    start = np.frombuffer(owner, np.uint8).ctypes.data
    first = -(-(low - start) // mmap.PAGESIZE) * mmap.PAGESIZE
    length = min(high - start, len(owner)) // mmap.PAGESIZE * mmap.PAGESIZE - first
    if length > 0:
        owner.madvise(mmap.MADV_DONTNEED, first, length)


def release_file_pages(tensors: Iterable[Tensor]) -> None:
    """Releases the resident pages of all mapped files in which the tensors are stored."""
    stored = (tensor.storage.data for tensor in tensors if isinstance(tensor.storage, RawStorage))
    files = {id(data.obj): data.obj for data in stored if isinstance(data, memoryview)}
    for owner in files.values():
        if isinstance(owner, mmap.mmap) and is_releasable(owner):
            owner.madvise(mmap.MADV_DONTNEED)


def iter_releasing(view: memoryview, block_bytes: int) -> Iterator[memoryview]:
    """Blocks of a view of bytes; if it views a mapped file, the pages of each block are released after it was used."""
    for offset in range(0, len(view), block_bytes):
        block = view[offset : offset + block_bytes]
        yield block
        release_pages(np.frombuffer(block, np.uint8))


def mapped_file_of(array: Array) -> mmap.mmap | None:
    """The mapped file that an array views, if its pages can be released."""
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, memoryview):
        owner = owner.obj
    return owner if isinstance(owner, mmap.mmap) and is_releasable(owner) else None


def is_releasable(owner: mmap.mmap) -> bool:
    """Whether a map is read-only, so that its pages can be read from the file again; modified pages would be lost."""
    return hasattr(mmap, "MADV_DONTNEED") and memoryview(owner).readonly


def map_large_blocks(nbytes: int) -> None:
    """Has glibc allocate blocks of `nbytes` and more as mappings, which grow without a copy and are returned when they are freed.

    By default, the size from which it does rises to that of the largest block that was freed, up to 32 MiB.
    """
    if sys.platform == "linux":
        set_option = getattr(ctypes.CDLL(None), "mallopt", None)
        if set_option is not None:
            set_option(M_MMAP_THRESHOLD, nbytes)
            set_option(M_TRIM_THRESHOLD, RETAINED_BLOCKS * nbytes)  # which would be 128 KiB from then on


def trim_heap() -> None:
    """Returns freed heap memory from the C library to the system; after compilation this may be a lot."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # a function of glibc
        if trim is not None:
            trim(ctypes.c_size_t(0))
