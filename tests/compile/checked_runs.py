"""Runs checked builds of kernels with a table of the memory ranges that they may access."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from compile import checked_support as table_layout
from compile.checked import instrument_module
from compile.kernel_objects import load_module
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.llvm.jit import Library
from sardonyx._src.compile.program import Kernel

RANGES = 4096  # capacity of a table, including arrays on the stack
ARGUMENTS = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)


@dataclass(frozen=True, slots=True)
class Fault:
    """An access that was not allowed: kernel, address, bytes, direction, and the line of LLVM text."""

    kernel: str
    address: int
    size: int
    is_write: bool
    line: str


class Table:
    """The memory ranges that one call may access."""

    def __init__(self) -> None:
        self.slots = np.zeros(table_layout.FIRST + table_layout.RANGE * RANGES, np.int64)

    def allow(self, address: int, size: int, *, writes: bool) -> None:
        start = table_layout.FIRST + table_layout.RANGE * int(self.slots[table_layout.COUNT])
        self.slots[start : start + table_layout.RANGE] = address, address + size, writes
        self.slots[table_layout.COUNT] += 1


class Build:
    """The checked build of a kernel.

    It is not optimized, which compiles ten times as fast, and makes it an oracle for the optimized kernel.
    """

    def __init__(self, kernel: Kernel, target: Target) -> None:
        self.key, self.text = kernel.key, kernel.source("kernel", target)
        self.library: Library = load_module(
            instrument_module(self.text), ["kernel", table_layout.TABLE], quick=True
        )
        self.function: Callable[..., None] = self.library.function("kernel", *ARGUMENTS)
        self.table = ctypes.c_void_p.from_address(self.library.addresses[table_layout.TABLE])

    def call(self, table: Table, args: int, first: int, last: int, scratch: int) -> Fault | None:
        """Executes units of work; returns the first access out of the table's ranges, which was not performed."""
        self.table.value, ranges = table.slots.ctypes.data, table.slots[table_layout.COUNT]
        self.function(args, first, last, scratch)
        assert table.slots[table_layout.COUNT] == ranges, (
            "the kernel must remove its stack arrays from the table"
        )
        if not table.slots[table_layout.FAULTS]:
            return None
        address, size, writes, line = table.slots[table_layout.PLACE : table_layout.LINE + 1].tolist()
        return Fault(self.key, address, size, bool(writes), self.text.split("\n")[line - 1].strip())


@cache
def build(kernel: Kernel, target: Target) -> Build:
    return Build(kernel, target)
