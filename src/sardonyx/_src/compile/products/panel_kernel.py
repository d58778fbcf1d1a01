"""Panels of constants, made by native code when a program is made."""

from __future__ import annotations

import ctypes

import numpy as np

from sardonyx._src.compile.blocks import I64
from sardonyx._src.compile.llvm.kernels import address
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.products.lanes import Lanes
from sardonyx._src.compile.step import Kernel
from sardonyx._src.compile.text import Value
from sardonyx._src.io.pages import let_go
from sardonyx._src.ir.tensors import Array

SIZES = ("taps", "k", "columns", "width", "b_tap", "b_row", "b_step")
LARGE = 1 << 16  # bytes of a constant whose pages of a file are let go once it is packed


def fill(panels: Array, b: Array) -> None:
    """Puts B, [taps, k, n] float32 with any strides, into dense panels [panels, taps, k, width].

    Behind the last column panels keep what they have.
    """
    taps, k, columns = b.shape
    assert b.dtype == panels.dtype == np.float32 and panels.flags.c_contiguous, f"{b.dtype} is no float32"
    assert panels.shape[1:3] == (taps, k) and columns <= panels.shape[0] * panels.shape[3], (
        "panels do not fit"
    )
    strides = [stride // b.itemsize for stride in b.strides]
    words = (b.ctypes.data, panels.ctypes.data, taps, k, columns, panels.shape[3], *strides)
    args = np.array(words, np.int64)
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
    call(address(KERNEL))(args.ctypes.data, 0, panels.shape[0] * taps, None)
    if b.nbytes >= LARGE and is_together(b):
        let_go(b)


def is_together(b: Array) -> bool:
    """Whether nearly all bytes among those of an array are its own, not of columns that come later."""
    low, high = np.lib.array_utils.byte_bounds(b)
    return high - low <= 2 * b.nbytes


def source(name: str, target: Target) -> str:
    code = Filling(target)
    code.counted(code.first, code.last, 1, code.unit, "unit")
    return code.module(name)


KERNEL = Kernel("constant_panels_f32", source)


class Filling(Lanes):
    """The instructions that fill panels: a unit is one tap of one of them.  Arguments: B; the panels; `SIZES`."""

    def __init__(self, target: Target) -> None:
        super().__init__(target)
        self.b, self.panels = self.pointer(0), self.pointer(1)
        self.sizes = {name: self.size(i) for i, name in enumerate(SIZES, 2)}

    def unit(self, unit: Value) -> None:
        size = self.sizes
        panel, tap = self.quotient(unit, size["taps"]), self.remainder(unit, size["taps"])
        column = panel * size["width"]
        b = self.address(self.b, tap * size["b_tap"] + column * size["b_step"])
        goal = self.address(self.panels, unit * size["k"] * size["width"])
        left = self.least(size["columns"] - column, size["width"])
        along_rows = size["b_step"].equals(1)
        along_columns = along_rows.equals(0) & size["b_row"].equals(1)
        self.when(along_rows, lambda: self.rows(b, goal, left))
        self.when(along_columns, lambda: self.crosswise(b, goal, left))
        self.when((along_rows | along_columns).equals(0), lambda: self.one_by_one(b, goal, left))

    def rows(self, b: str, goal: str, left: Value) -> None:
        """Copies rows of B, whose elements are 1 apart."""
        size = self.sizes

        def row(i: Value) -> None:
            here, there = self.address(b, i * size["b_row"]), self.address(goal, i * size["width"])
            self.fetch(self.address(b, (i + 8) * size["b_row"]))

            def vector(c: Value, mask: Value | None) -> None:
                self.put(self.taken(self.address(here, c), mask), self.address(there, c), mask)

            self.along(left, vector)

        self.counted(self.number(0), size["k"], 1, row, "row")

    def crosswise(self, b: str, goal: str, left: Value) -> None:
        """Turns columns of B, whose elements are 1 apart, as many at a time as there are lanes."""

        def columns(column: Value) -> None:
            rows = [self.address(b, (column + i) * self.sizes["b_step"]) for i in range(self.lanes)]
            there = self.address(goal, column)
            reached = self.counted(
                self.number(0), self.sizes["k"], self.lanes, lambda i: self.turned(rows, there, i), "turn"
            )
            self.counted(reached, self.sizes["k"], 1, lambda i: self.one_row(rows, there, i), "rest")

        reached = self.counted(self.number(0), left, self.lanes, columns, "column")
        self.counted(reached, left, 1, lambda c: self.one_column(b, goal, c), "last")

    def turned(self, rows: list[str], there: str, first: Value) -> None:
        found = self.transposed([self.taken(self.address(row, first)) for row in rows])
        for i, value in enumerate(found):
            self.put(value, self.address(there, (first + i) * self.sizes["width"]))

    def one_row(self, rows: list[str], there: str, i: Value) -> None:
        goal = self.address(there, i * self.sizes["width"])
        for number, row in enumerate(rows):
            self.copy(self.address(row, i), self.address(goal, self.number(number)))

    def one_column(self, b: str, goal: str, column: Value) -> None:
        size = self.sizes
        here, there = self.address(b, column * size["b_step"]), self.address(goal, column)

        def copy(i: Value) -> None:
            self.copy(self.address(here, i * size["b_row"]), self.address(there, i * size["width"]))

        self.counted(self.number(0), size["k"], 1, copy, "element")

    def one_by_one(self, b: str, goal: str, left: Value) -> None:
        def row(i: Value) -> None:
            here = self.address(b, i * self.sizes["b_row"])
            there = self.address(goal, i * self.sizes["width"])
            self.counted(
                self.number(0),
                left,
                1,
                lambda c: self.copy(self.address(here, c * self.sizes["b_step"]), self.address(there, c)),
                "element",
            )

        self.counted(self.number(0), self.sizes["k"], 1, row, "row")

    def copy(self, here: str, there: str) -> None:
        """Moves one float."""
        value = self.emit(I64.of("i32"), f"load i32, ptr {here}, align 4")
        self.lines.append(f" store {value}, ptr {there}, align 4")
