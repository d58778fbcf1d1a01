"""The right operand of a matrix product in panels: constants beforehand, others by a step of their own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from sardonyx._src.compile.blocks import I64
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.products.axes import axes, merged, pair, shifted, split
from sardonyx._src.compile.products.lanes import Lanes
from sardonyx._src.compile.products.packing import constant, panels_of
from sardonyx._src.compile.products.tiles import Tile, tile_for, tile_of
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tensor import Storage, Tensor, product, row_major
from sardonyx._src.compile.text import Value
from sardonyx._src.ir.dims import Known, ceil_div
from sardonyx._src.ir.tensors import Array

LARGE = 1 << 17  # bytes
SIZES = (
    "k", "columns", "panels", "inner", "b_row", "b_step", "b_outer", "b_inner", "p_outer", "p_inner",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Panels:
    """B [..., k, columns], as panels of as many columns as a tile has: [..., panels, k, width]."""

    tensor: Tensor
    tile: Tile
    columns: Known

    @property
    def count(self) -> Known:
        return self.tensor.shape[-3]

    @property
    def k(self) -> Known:
        return self.tensor.shape[-2]


def tile_of_columns(columns: Known, target: Target) -> Tile:
    if isinstance(columns, int):
        return tile_for(columns, target.lanes, target.registers)
    return tile_of(4 if target.registers >= 32 else 2, target.lanes, target.registers)


def constant_panels(b: Array, target: Target, name: str = "") -> Panels:
    """Panels of a constant [..., k, columns] of float32, or of 16 bits, as which they stay if they are large.

    It takes a moment to widen them in each run, but longer to fetch twice as many bytes from memory.
    """
    narrow = b.dtype != np.float32 and b.nbytes >= LARGE
    *batch, k, columns = b.shape
    tile = tile_of_columns(columns, target)
    found = constant(panels_of(b[..., None, :, :], tile, narrow=narrow), name)
    return Panels(found.reshaped((*batch, -(-columns // tile.width), k, tile.width)), tile, columns)


def packed_panels(b: Tensor, target: Target, name: str = "") -> tuple[Panels, list[Step]]:
    """Panels of B [..., k, columns] with any strides, and the steps that make them in the arena."""
    *batch, k, columns = b.shape
    tile = tile_of_columns(columns, target)
    lead = tuple(1 if stride == 0 else dim for dim, stride in zip(batch, b.strides, strict=False))
    shape = (*lead, ceil_div(columns, tile.width), k, tile.width)
    storage = Storage("arena", product(shape) * 4, name)
    tensor = Tensor(b.dtype, shape, row_major(shape), storage)
    found = Panels(tensor, tile, columns)
    walk = merged(axes(lead, ((b, 2), (tensor, 3))))
    steps = []
    for come, left in split(walk, 2):
        here, goal = (shifted(t, c) for t, c in zip((b, tensor), come or (0, 0), strict=True))
        outer, inner = pair(left, 2)
        strides = (b.strides[-2], b.strides[-1], *sum(zip(outer.steps, inner.steps, strict=True), ()))
        steps.append(
            Step(
                Kernel(f"panels_f32_{tile.vectors}", partial(source, vectors=tile.vectors)),
                (here, goal, k, columns, found.count, inner.size, *strides),
                units=outer.size * inner.size * found.count,
                reads=(b,),
                writes=(tensor,),
                traffic=b.bytes + tensor.bytes,
            )
        )
    return found, steps


def source(name: str, target: Target, vectors: int) -> str:
    code = Packing(target, vectors)
    code.counted(code.first, code.last, 1, code.unit, "unit")
    return code.module(name)


class Packing(Lanes):
    """The instructions that pack panels: a unit is one of them.

    Arguments: B; the panels; `SIZES`.  Behind the last column stands anything.
    """

    def __init__(self, target: Target, vectors: int) -> None:
        super().__init__(target)
        self.width = vectors * self.lanes
        self.b, self.panels = self.pointer(0), self.pointer(1)
        self.sizes = {name: self.size(i) for i, name in enumerate(SIZES, 2)}

    def unit(self, unit: Value) -> None:
        size = self.sizes
        item, panel = self.quotient(unit, size["panels"]), self.remainder(unit, size["panels"])
        outer, inner = self.quotient(item, size["inner"]), self.remainder(item, size["inner"])
        column = panel * self.width
        b = self.address(self.b, outer * size["b_outer"] + inner * size["b_inner"] + column * size["b_step"])
        offset = outer * size["p_outer"] + inner * size["p_inner"] + panel * size["k"] * self.width
        p = self.address(self.panels, offset)
        left = self.least(size["columns"] - column, self.number(self.width))
        along_rows = size["b_step"].equals(1)
        along_columns = along_rows.equals(0) & size["b_row"].equals(1)
        self.when(along_rows, lambda: self.rows(b, p, left))
        self.when(along_columns, lambda: self.crosswise(b, p, left))
        self.when((along_rows | along_columns).equals(0), lambda: self.one_by_one(b, p, left))

    def rows(self, b: str, p: str, left: Value) -> None:
        """Copies rows of B, whose elements are 1 apart."""

        def row(i: Value) -> None:
            source, goal = self.address(b, i * self.sizes["b_row"]), self.address(p, i * self.width)
            self.each(
                left,
                lambda c, mask: self.put(self.taken(self.address(source, c), mask), self.address(goal, c)),
            )

        self.counted(self.number(0), self.sizes["k"], 1, row, "row")

    def crosswise(self, b: str, p: str, left: Value) -> None:
        """Turns columns of B, whose elements are 1 apart, as many at a time as there are lanes."""

        def columns(column: Value) -> None:
            places = [self.least(column + i, left - 1) for i in range(self.lanes)]
            rows = [self.address(b, place * self.sizes["b_step"]) for place in places]
            goal = self.address(p, column)
            self.each(self.sizes["k"], lambda i, mask: self.turned(rows, goal, i, mask))

        self.counted(self.number(0), left + (self.lanes - 1), self.lanes, columns, "column")

    def turned(self, rows: list[str], goal: str, first: Value, mask: Value | None) -> None:
        found = self.transposed([self.taken(self.address(row, first), mask) for row in rows])
        for i, value in enumerate(found):
            place = self.address(goal, (first + i) * self.width)
            if mask is None:
                self.put(value, place)
            else:
                inside = first + i < self.sizes["k"]
                self.when(inside, partial(self.put, value, place))

    def one_by_one(self, b: str, p: str, left: Value) -> None:
        def row(i: Value) -> None:
            source, goal = self.address(b, i * self.sizes["b_row"]), self.address(p, i * self.width)

            def copy(c: Value) -> None:
                self.copy(self.address(source, c * self.sizes["b_step"]), self.address(goal, c))

            self.counted(self.number(0), left, 1, copy, "column")

        self.counted(self.number(0), self.sizes["k"], 1, row, "row")

    def copy(self, source: str, goal: str) -> None:
        """Moves one float."""
        value = self.emit(I64.of("i32"), f"load i32, ptr {source}, align 4")
        self.lines.append(f" store {value}, ptr {goal}, align 4")
