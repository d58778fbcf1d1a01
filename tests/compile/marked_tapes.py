"""Tapes of a kernel that counts the executions of each unit, and detects threads that share scratch memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.compile.codegen.blocks import I64, StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.executor.pool_layout import FLAG, JUMP, RECORD_SLOTS
from sardonyx._src.compile.llvm.jit import Library, host_target, load

SHARED_SCRATCH = -(1 << 40)  # the mark of a unit whose scratch memory another thread overwrote
DOUBLE = LLVMType("double")


def build_marking_kernel() -> Library:
    """`kernel`: the arguments are the address of the marks, one i64 a unit, and the iterations of idle work for a unit."""
    emitter = KernelBuilder(host_target())
    marks, iterations, scratch = (
        emitter.pointer_argument(0),
        emitter.size_argument(1),
        StackSlot(emitter.scratch, I64),
    )
    emitter.store(scratch, emitter.first_unit)
    accumulator = emitter.new_slot("number", DOUBLE)

    def idle(_: LLVMValue) -> None:
        emitter.store(accumulator, emitter.load(accumulator) * 1.0000001)

    def run_unit(i: LLVMValue) -> None:
        mark = StackSlot(emitter.gep(marks, i, "i64"), I64)
        emitter.store(accumulator, emitter.constant(1.0, DOUBLE))
        emitter.loop_call(emitter.constant(0, I64), iterations, 1, idle)
        # Never true; keeps the idle work from being optimised away.
        is_decreased = emitter.load(accumulator) < 0.5
        is_overwritten = emitter.load(scratch).ne(emitter.first_unit)
        emitter.store(mark, emitter.load(mark) + 1)
        emitter.if_then_call(
            is_overwritten | is_decreased, lambda: emitter.store(mark, emitter.constant(SHARED_SCRATCH, I64))
        )

    emitter.loop_call(emitter.first_unit, emitter.end_unit, 1, run_unit)
    return load(emitter.build_module("kernel"), ["kernel"])


LIBRARY = build_marking_kernel()


def sizes() -> Library:
    """`kernel`: writes to the mark of each unit, one i64, the number of units in its call."""
    emitter = KernelBuilder(host_target())

    def run_unit(i: LLVMValue) -> None:
        emitter.store(
            StackSlot(emitter.gep(emitter.pointer_argument(0), i, "i64"), I64),
            emitter.end_unit - emitter.first_unit,
        )

    emitter.loop_call(emitter.first_unit, emitter.end_unit, 1, run_unit)
    return load(emitter.build_module("kernel"), ["kernel"])


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
