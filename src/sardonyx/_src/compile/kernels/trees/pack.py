"""Packing of rows: the columns of a block of rows as float32, one row after another, or the rows of each column together.

The column after the last is 0 in every row: what leaves and padding compare with their thresholds.
"""

from __future__ import annotations

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue
from sardonyx._src.compile.codegen.element_types import convert
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.memory import load_at, store_at
from sardonyx._src.compile.kernels.loops.vectors import i64
from sardonyx._src.compile.kernels.trees.variant import TreeVariant

FLOAT = LLVMType("float")


def pack_rows(
    b: KernelBuilder,
    variant: TreeVariant,
    first: LLVMValue,
    count: LLVMValue,
    lanes: int | None,
    stride: int = 0,
) -> None:
    """Packs the rows from `first` on into scratch.

    lanes: None for [count, columns + 1], or those that are used of [columns + 1, stride], in which the last row is repeated.
    """
    x, features = b.pointers("x", "features")
    row_length, columns = b.integers("row_length", "columns")
    zero, size = b.constant(0.0, FLOAT), columns + 1
    with b.loop(i64(b, 0), columns, name="column") as column:
        feature, read = load_at(b, features, column, "i64"), ColumnReader(b, variant, column)
        with b.loop(i64(b, 0), count if lanes is None else i64(b, lanes), name="row") as row:
            own = row if lanes is None else b.min(row, count - 1)
            number = read.number(load_at(b, x, (first + own) * row_length + feature, variant.x))
            place = row * size + column if lanes is None else column * stride + row
            store_at(b, b.scratch, place, number)
    if lanes is not None:
        store_at(b, b.scratch, columns * stride, b.splat(zero, lanes))
        return
    with b.loop(i64(b, 0), count, name="row") as row:
        store_at(b, b.scratch, row * size + columns, zero)


class ColumnReader:
    """The conversion of features to the numbers of one column."""

    def __init__(self, b: KernelBuilder, variant: TreeVariant, column: LLVMValue) -> None:
        self.b, self.is_ranked = b, variant.x != "float"
        self.sign = load_at(b, b.pointer("signs"), column, "float")
        if self.is_ranked:
            starts = b.pointer("edge_starts")
            self.edges = b.pointer("edges")
            self.low, self.high = load_at(b, starts, column, "i64"), load_at(b, starts, column + 1, "i64")

    def number(self, feature: LLVMValue) -> LLVMValue:
        """The column's float32 for a feature."""
        if not self.is_ranked:
            return feature * self.sign
        x = convert(self.b, feature, "double") * convert(self.b, self.sign, "double")
        rank = self.count_below(x).convert("sitofp", "float")
        return self.b.select(x.ne(x), self.b.constant(float("nan"), FLOAT), rank)

    def count_below(self, x: LLVMValue) -> LLVMValue:
        """The number of edges below x, by binary search."""
        b = self.b
        low, size = b.new_slot("low", I64), b.new_slot("size", I64)
        b.store(low, self.low)
        b.store(size, self.high - self.low)
        head, body, done = (b.new_label(word) for word in ("search", "halve", "found"))
        b.enter_block(head)
        count = b.load(size)
        b.lines.append(f" br {count > 0}, label %{body}, label %{done}")
        b.start_block(body)
        half = count >> 1
        middle = b.load(low) + half
        is_below = load_at(b, self.edges, middle, "double") < x
        b.store(low, b.select(is_below, middle + 1, b.load(low)))
        b.store(size, b.select(is_below, count - half - 1, half))
        b.lines.append(f" br label %{head}")
        b.start_block(done)
        return b.load(low) - self.low
