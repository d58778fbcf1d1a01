"""Kernels run with a table of the ranges that they may touch, which their checked build asks before every access."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from sardonyx._src.compile.llvm import checked_support as table_words
from sardonyx._src.compile.llvm.checked import checked
from sardonyx._src.compile.llvm.jit import Library, load
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.step import Kernel

RANGES = 4096  # that a table has room for, those of arrays on the stack among them
ARGUMENTS = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


@dataclass(frozen=True, slots=True)
class Fault:
    """An access that was not allowed: where, of how many bytes, and the line of the kernel's text that it stands in."""

    kernel: str
    address: int
    size: int
    is_write: bool
    line: str


class Table:
    """The ranges of memory that one call may touch."""

    def __init__(self) -> None:
        self.words = np.zeros(table_words.FIRST + table_words.RANGE * RANGES, np.int64)

    def allow(self, address: int, size: int, *, writes: bool) -> None:
        at = table_words.FIRST + table_words.RANGE * int(self.words[table_words.COUNT])
        self.words[at : at + table_words.RANGE] = address, address + size, writes
        self.words[table_words.COUNT] += 1


class Build:
    """A kernel in its checked build."""

    def __init__(self, kernel: Kernel, target: Target) -> None:
        self.key, self.text = kernel.key, kernel.source("kernel", target)
        self.library: Library = load(checked(self.text), ["kernel", table_words.TABLE])
        self.function: Callable[..., None] = self.library.function("kernel", *ARGUMENTS)
        self.table = ctypes.c_void_p.from_address(self.library.addresses[table_words.TABLE])

    def call(self, table: Table, args: int, first: int, last: int, scratch: int) -> Fault | None:
        """Does units of work; answers the first access outside of the table, which did not take place."""
        self.table.value, ranges = table.words.ctypes.data, table.words[table_words.COUNT]
        self.function(args, first, last, scratch)
        assert table.words[table_words.COUNT] == ranges, "the kernel lets go of its arrays"
        if not table.words[table_words.FAULTS]:
            return None
        address, size, writes, line = table.words[table_words.PLACE : table_words.LINE + 1].tolist()
        return Fault(self.key, address, size, bool(writes), self.text.split("\n")[line - 1].strip())


@cache
def build(kernel: Kernel, target: Target) -> Build:
    return Build(kernel, target)
