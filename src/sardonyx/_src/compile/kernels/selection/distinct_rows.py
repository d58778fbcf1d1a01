"""Distinct rows of codes: a hash table finds them in the order of their first occurrence, and a merge sort orders them.

    for row: number of an equal row in the table, or the next number      # one unit of work
    for width in 1, 2, 4 ...: merge adjacent runs of numbers              # only if the rows are to be sorted

Codes are integers with the equality and the order of the elements (`order_codes`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from sardonyx._src.compile.codegen import I64, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.loops.vectors import i64
from sardonyx._src.compile.kernels.selection.group_rows import slot_at
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.dataclass import dataclass

PARAMETERS = Parameters(
    "codes", "first", "inverse", "counts", "total", "table", "order", "rows", "length", "slots"
)
MULTIPLIER = 0x9E3779B97F4A7C15 - (1 << 64)  # of hashes: 2**64 divided by the golden ratio
HALF_WORD = 0xFFFFFFFF
MAX_DOUBLINGS = 62  # doublings of the width of runs, which then exceeds every number of rows


@dataclass(frozen=True, slots=True)
class DistinctRows:
    """The results and the memory of the kernel, all int64.

    first: [rows], the first occurrence of each distinct row; only total[0] elements are defined.
    inverse: [rows], the number of the distinct row that each row equals.
    counts: [rows], the occurrences of each distinct row; only total[0] elements are defined.
    total: [1], the number of distinct rows.
    table, order: memory of the kernel, more than [2 * rows] and [2 * rows].
    """

    first: TensorView
    inverse: TensorView
    counts: TensorView
    total: TensorView
    table: TensorView
    order: TensorView


def distinct_rows_step(codes: TensorView, results: DistinctRows, *, is_sorted: bool) -> Step:
    """The step for codes [rows, length] int64, dense; is_sorted: whether distinct rows are numbered in ascending order."""
    rows, length = codes.shape
    is_scalar = length == 1
    kernel = Kernel(
        f"distinct_rows{'_sorted' * is_sorted}{'_scalar' * is_scalar}",
        partial(distinct_rows_module, is_sorted=is_sorted, is_scalar=is_scalar),
        PARAMETERS,
    )
    outputs = (results.first, results.inverse, results.counts, results.total, results.table, results.order)
    args: tuple[KernelArgument, ...] = PARAMETERS.pack(
        codes=codes,
        first=results.first,
        inverse=results.inverse,
        counts=results.counts,
        total=results.total,
        table=results.table,
        order=results.order,
        rows=rows,
        length=length,
        slots=results.table.shape[0],
    )
    return Step(kernel, args, 1, (codes,), outputs, flops=codes.num_elements * (80 if is_sorted else 20))


def distinct_rows_module(name: str, target: Target, *, is_sorted: bool, is_scalar: bool) -> str:
    b = KernelBuilder(target, PARAMETERS)
    kernel = DistinctRowsKernel(b, is_scalar)
    with b.loop(b.first_unit, b.end_unit, name="unit"):
        total = kernel.number_rows()
        if is_sorted:
            kernel.renumber(kernel.sort(total), total)
        b.store(MemoryLocation(kernel.total, I64), total)
    return b.build_module(name)


class DistinctRowsKernel:
    """The kernel that is being emitted, with its arguments; methods emit its parts."""

    def __init__(self, b: KernelBuilder, is_scalar: bool) -> None:
        self.b = b
        self.codes, self.first, self.inverse, self.counts, self.total, self.table, self.order = b.pointers(
            *PARAMETERS.names[:7]
        )
        self.rows, length, self.slots = b.integers("rows", "length", "slots")
        self.length = i64(b, 1) if is_scalar else length
        self.is_scalar = is_scalar

    # --- rows --------------------------------------------------------------------------------

    def code(self, row: LLVMValue, column: LLVMValue) -> LLVMValue:
        index = row if self.is_scalar else row * self.length + column
        return self.b.load(slot_at(self.b, self.codes, index))

    @contextmanager
    def columns(self) -> Iterator[LLVMValue]:
        """A loop over the columns of a row."""
        if self.is_scalar:
            yield i64(self.b, 0)
        else:
            with self.b.loop(i64(self.b, 0), self.length, name="column") as column:
                yield column

    def first_slot(self, row: LLVMValue) -> LLVMValue:
        """The slot at which the search for a row begins: the high half of its hash, scaled to the number of slots."""
        b, mixed = self.b, self.b.new_slot("hash", I64)
        b.store(mixed, i64(b, 0))
        with self.columns() as column:
            value = b.load(mixed) ^ self.code(row, column)
            b.store(mixed, (value ^ ((value >> 32) & HALF_WORD)) * MULTIPLIER)
        return (((b.load(mixed) >> 32) & HALF_WORD) * self.slots >> 32) & HALF_WORD

    def compare(self, row: LLVMValue, other: LLVMValue) -> LLVMValue:
        """-1, 0 or 1 if a row is before, equal to or after another row; the first column in which they differ decides."""
        b, result = self.b, self.b.new_slot("order", I64)
        b.store(result, i64(b, 0))
        with self.columns() as column:
            x, y = self.code(row, column), self.code(other, column)
            order = (x > y).convert("zext", "i64") - (x < y).convert("zext", "i64")
            b.store(result, b.select(b.load(result).eq(0), order, b.load(result)))
        return b.load(result)

    # --- numbers -----------------------------------------------------------------------------

    def number_rows(self) -> LLVMValue:
        """Numbers the distinct rows by their first occurrence; returns the number of distinct rows."""
        b, zero = self.b, i64(self.b, 0)
        total = b.new_slot("total", I64)
        b.store(total, zero)
        with b.loop(zero, self.slots, name="slot") as i:
            b.store(slot_at(b, self.table, i), zero)
        with b.loop(zero, self.rows, name="row") as row:
            slot = self.find(row)
            entry = b.load(slot)
            with b.if_then(entry.eq(0)):
                number = b.load(total)
                b.store(total, number + 1)
                b.store(slot, number + 1)
                b.store(slot_at(b, self.first, number), row)
                b.store(slot_at(b, self.counts, number), zero)
            number = b.load(slot) - 1
            count = slot_at(b, self.counts, number)
            b.store(count, b.load(count) + 1)
            b.store(slot_at(b, self.inverse, row), number)
        return b.load(total)

    def find(self, row: LLVMValue) -> MemoryLocation:
        """The slot of a row in the table: from `first_slot` on, the first that has 1 + the number of an equal row, or is empty (0)."""
        b, position = self.b, self.b.new_slot("place", I64)
        b.store(position, self.first_slot(row))
        head, probe, move, done = (b.new_label(word) for word in ("head", "probe", "move", "done"))
        b.enter_block(head)
        slot = slot_at(b, self.table, b.load(position))
        entry = b.load(slot)
        b.lines.append(f" br {entry.eq(0)}, label %{done}, label %{probe}")
        b.start_block(probe)
        order = self.compare(row, b.load(slot_at(b, self.first, entry - 1)))
        b.lines.append(f" br {order.eq(0)}, label %{done}, label %{move}")
        b.start_block(move)
        following = b.load(position) + 1
        b.store(position, b.select(following.eq(self.slots), i64(b, 0), following))
        b.lines.append(f" br label %{head}")
        b.start_block(done)
        return slot_at(b, self.table, b.load(position))

    # --- order -------------------------------------------------------------------------------

    def sort(self, total: LLVMValue) -> LLVMValue:
        """Sorts the numbers by their rows; returns the index in `order` at which the sorted numbers begin, 0 or `rows`."""
        b, zero = self.b, i64(self.b, 0)
        start = b.new_slot("start", I64)
        b.store(start, zero)
        with b.loop(zero, total, name="number") as i:
            b.store(slot_at(b, self.order, i), i)
        with b.loop(zero, i64(b, MAX_DOUBLINGS), name="doubling") as doubling:
            width = i64(b, 1) << doubling
            with b.if_then(width < total):
                source = b.load(start)
                target = self.rows - source
                with b.loop(zero, (total + width * 2 - 1) >> (doubling + 1), name="pair") as pair:
                    self.merge(source, target, pair * width * 2, width, total)
                b.store(start, target)
        return b.load(start)

    def merge(
        self, source: LLVMValue, target: LLVMValue, low: LLVMValue, width: LLVMValue, total: LLVMValue
    ) -> None:
        """Merges two runs of `width` numbers from `low` on, without branches, since branches would be mispredicted.

        source, target: where the two arrays of numbers, old and new, begin in `order`.
        """
        b = self.b
        middle = b.min(low + width, total)
        high = b.min(middle + width, total)
        left, right = b.new_slot("left", I64), b.new_slot("right", I64)
        b.store(left, low)
        b.store(right, middle)
        with b.loop(low, high, name="merged") as position:
            i, j = b.load(left), b.load(right)
            x, y = (
                b.load(slot_at(b, self.order, source + b.min(k, end - 1)))
                for k, end in ((i, middle), (j, high))
            )
            rows = (b.load(slot_at(b, self.first, number)) for number in (y, x))
            is_right = (j < high) & ((i >= middle) | (self.compare(*rows) < 0))
            b.store(slot_at(b, self.order, target + position), b.select(is_right, y, x))
            step = is_right.convert("zext", "i64")
            b.store(right, j + step)
            b.store(left, i + 1 - step)

    def renumber(self, start: LLVMValue, total: LLVMValue) -> None:
        """Replaces the numbers by ranks.  The other half of `order`, and then the table, serve as temporary memory."""
        b, zero, spare = self.b, i64(self.b, 0), self.rows - start
        for values in (self.first, self.counts):
            with b.loop(zero, total, name="rank") as rank:
                number = b.load(slot_at(b, self.order, start + rank))
                b.store(slot_at(b, self.order, spare + rank), b.load(slot_at(b, values, number)))
            with b.loop(zero, total, name="rank") as rank:
                b.store(slot_at(b, values, rank), b.load(slot_at(b, self.order, spare + rank)))
        with b.loop(zero, total, name="rank") as rank:
            b.store(slot_at(b, self.table, b.load(slot_at(b, self.order, start + rank))), rank)
        with b.loop(zero, self.rows, name="row") as row:
            slot = slot_at(b, self.inverse, row)
            b.store(slot, b.load(slot_at(b, self.table, b.load(slot))))
