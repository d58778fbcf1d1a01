"""Tapes of a kernel that counts the executions of each unit, and detects threads that share scratch memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.compile.codegen import I64, LLVMType, MemoryLocation, Parameters
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.executor import status
from sardonyx._src.compile.executor.pool_layout import BLOCK_GROUPS, FLAG, JUMP, RECORD_SLOTS, ROW_GROUPS
from sardonyx._src.compile.llvm.jit import Library, host_target, load

SHARED_SCRATCH = -(1 << 40)  # the mark of a unit whose scratch memory another thread overwrote
DOUBLE = LLVMType("double")
PARAMETERS = Parameters("marks", "iterations")


def build_marking_kernel() -> Library:
    """`kernel`: the arguments are the address of the marks, one i64 a unit, and the iterations of idle work for a unit."""
    b = KernelBuilder(host_target(), PARAMETERS)
    marks, iterations, scratch = b.pointer("marks"), b.integer("iterations"), MemoryLocation(b.scratch, I64)
    b.store(scratch, b.first_unit)
    accumulator = b.new_slot("number", DOUBLE)
    with b.loop(b.first_unit, b.end_unit) as i:
        mark = MemoryLocation(b.gep(marks, i, "i64"), I64)
        b.store(accumulator, b.constant(1.0, DOUBLE))
        with b.loop(b.constant(0, I64), iterations):
            b.store(accumulator, b.load(accumulator) * 1.0000001)
        # Never true; keeps the idle work from being optimized away.
        is_decreased = b.load(accumulator) < 0.5
        is_overwritten = b.load(scratch).ne(b.first_unit)
        b.store(mark, b.load(mark) + 1)
        with b.if_then(is_overwritten | is_decreased):
            b.store(mark, b.constant(SHARED_SCRATCH, I64))
    return load(b.build_module("kernel"), ["kernel"])


LIBRARY = build_marking_kernel()


def sizes() -> Library:
    """`kernel`: writes to the mark of each unit, one i64, the number of units in its call."""
    b = KernelBuilder(host_target(), PARAMETERS)
    marks = b.pointer("marks")
    with b.loop(b.first_unit, b.end_unit) as i:
        b.store(MemoryLocation(b.gep(marks, i, "i64"), I64), b.end_unit - b.first_unit)
    return load(b.build_module("kernel"), ["kernel"])


def allow_long_units() -> NDArray[np.int64]:
    """The status block of a caller that can wait for any unit."""
    block = np.zeros(status.STATUS_SLOTS, np.int64)
    block[status.LONG_UNITS] = status.ALLOWED
    return block


class MarkedTape:
    """A tape of records (units, weight, iterations of idle work); units None: a step that Python executes."""

    def __init__(self, records: Sequence[tuple[int | None, int, int]], library: Library = LIBRARY) -> None:
        self.library = library  # keeps the code loaded
        self.slots = np.zeros((len(records), RECORD_SLOTS), np.int64)
        self.marks = [np.zeros(units or 0, np.int64) for units, _, _ in records]
        self.args = [
            np.array([m.ctypes.data, r[2]], np.int64) for m, r in zip(self.marks, records, strict=True)
        ]
        self.flags: list[NDArray[np.int64]] = []
        for record, args, (units, weight, _) in zip(self.slots, self.args, records, strict=True):
            kernel = 0 if units is None else library.addresses["kernel"]
            record[:4] = kernel, args.ctypes.data, units or 0, weight

    def divide_rows(self, index: int, groups: int, block: int) -> None:
        """Makes the units of a record a grid of panels and row groups."""
        self.slots[index, [ROW_GROUPS, BLOCK_GROUPS]] = groups, block

    def jump(self, index: int, distance: int) -> NDArray[np.int64]:
        """Adds a jump to a record; it is taken while the returned flag is nonzero."""
        flag = np.zeros(1, np.int64)
        self.flags.append(flag)
        self.slots[index, [JUMP, FLAG]] = distance, flag.ctypes.data
        return flag

    @property
    def address(self) -> int:
        return self.slots.ctypes.data

    def __len__(self) -> int:
        return len(self.slots)

    def execution_counts(self) -> list[set[int]]:
        """The execution counts of the units of each record: {1} if each was executed once."""
        return [set(marks.tolist()) for marks in self.marks]
