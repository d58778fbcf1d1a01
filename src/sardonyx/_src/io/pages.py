"""Pages of memory that are not needed: of mapped files, whose reader knows, and of what was freed."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Iterable

import numpy as np

from sardonyx._src.ir.tensors import Array, RawStorage, Tensor


def let_go(array: Array) -> None:
    """Tells the system that the memory of a file behind an array is not needed for now; it is read again if it is."""
    owner = file_of(array)
    if owner is None:
        return
    low, high = np.lib.array_utils.byte_bounds(array)
    start = np.frombuffer(owner, np.uint8).ctypes.data
    first = -(-(low - start) // mmap.PAGESIZE) * mmap.PAGESIZE
    length = min(high - start, len(owner)) // mmap.PAGESIZE * mmap.PAGESIZE - first
    if length > 0:
        owner.madvise(mmap.MADV_DONTNEED, first, length)


def let_go_of_files(tensors: Iterable[Tensor]) -> None:
    """The same for all the files that tensors are stored in, to their ends."""
    stored = (tensor.storage.data for tensor in tensors if isinstance(tensor.storage, RawStorage))
    found = {id(data.obj): data.obj for data in stored if isinstance(data, memoryview)}
    for owner in found.values():
        if isinstance(owner, mmap.mmap) and can_be_let_go(owner):
            owner.madvise(mmap.MADV_DONTNEED)


def file_of(array: Array) -> mmap.mmap | None:
    """The mapped file that an array is a view of."""
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    if isinstance(owner, memoryview):
        owner = owner.obj
    return owner if isinstance(owner, mmap.mmap) and can_be_let_go(owner) else None


def can_be_let_go(owner: mmap.mmap) -> bool:
    """Whether nobody writes to a map, whose pages are the file's then: those of any other may be lost."""
    return hasattr(mmap, "MADV_DONTNEED") and memoryview(owner).readonly


def give_back() -> None:
    """Gives the system what the C library keeps of freed memory, which may be much after a program was made."""
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
        if trim is not None:
            trim(ctypes.c_size_t(0))
