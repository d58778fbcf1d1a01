"""Tapes of a kernel that counts how often each unit is done, and notices another thread in its scratch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.llvm.jit import Library, host, load
from sardonyx._src.compile.pool_words import FLAG, JUMP, RECORD
from sardonyx._src.compile.text import Kind, Value
from sardonyx._src.compile.values import KernelText

SPOILT = -(1 << 40)  # what stands in a mark when two threads had the same scratch
DOUBLE = Kind("double")


def library() -> Library:
    """`kernel`: args are the address of the marks, one i64 a unit, rounds of idle work for each, and a number."""
    code = KernelText(host().fused)
    marks, rounds, spare = code.pointer(0), code.size(1), Slot(code.scratch, I64)
    code.write(spare, code.first)
    number = code.new_slot("number", DOUBLE)

    def work(_: Value) -> None:
        code.write(number, code.read(number) * 1.0000001)

    def unit(i: Value) -> None:
        mark = Slot(code.address(marks, i, "i64"), I64)
        code.write(number, code.constant(1.0, DOUBLE))
        code.counted(code.constant(0, I64), rounds, 1, work)
        is_lost = code.read(number) < 0.5  # never; but the work is wanted
        is_foreign = code.read(spare).differs(code.first)
        code.write(mark, code.read(mark) + 1)
        code.when(is_foreign | is_lost, lambda: code.write(mark, code.constant(SPOILT, I64)))

    code.counted(code.first, code.last, 1, unit)
    return load(code.module("kernel"), ["kernel"])


LIBRARY = library()


def sizes() -> Library:
    """`kernel`: args are the address of marks, one i64 a unit, which get the number of units that came with it."""
    code = KernelText(host().fused)

    def unit(i: Value) -> None:
        code.write(Slot(code.address(code.pointer(0), i, "i64"), I64), code.last - code.first)

    code.counted(code.first, code.last, 1, unit)
    return load(code.module("kernel"), ["kernel"])


class MarkedTape:
    """A tape of records (units, weight, rounds of work); units None: a step that Python does."""

    def __init__(self, records: Sequence[tuple[int | None, int, int]], library: Library = LIBRARY) -> None:
        self.library = library  # whose code is there as long as somebody holds it
        self.words = np.zeros((len(records), RECORD), np.int64)
        self.marks = [np.zeros(units or 0, np.int64) for units, _, _ in records]
        self.args = [
            np.array([m.ctypes.data, r[2]], np.int64) for m, r in zip(self.marks, records, strict=True)
        ]
        self.flags: list[NDArray[np.int64]] = []
        for words, args, (units, weight, _) in zip(self.words, self.args, records, strict=True):
            kernel = 0 if units is None else library.addresses["kernel"]
            words[:4] = kernel, args.ctypes.data, units or 0, weight

    def jump(self, index: int, distance: int) -> NDArray[np.int64]:
        """Makes a record one that jumps so far where the word that is answered is not 0."""
        flag = np.zeros(1, np.int64)
        self.flags.append(flag)
        self.words[index, [JUMP, FLAG]] = distance, flag.ctypes.data
        return flag

    @property
    def address(self) -> int:
        return self.words.ctypes.data

    def __len__(self) -> int:
        return len(self.words)

    def done(self) -> list[set[int]]:
        """How often the units of each record were done: {1} if each was done once."""
        return [set(marks.tolist()) for marks in self.marks]
