"""TopK: the k best elements of rows, by a heap of as many keys."""

from __future__ import annotations

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.moves.layout import Layout
from sardonyx._src.compile.moves.layout import rows as rows_of
from sardonyx._src.compile.rows.vectors import RowsText, rows_of_unit, units
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tensor import Tensor
from sardonyx._src.compile.text import Element, Kind, Value
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.dims import dim_max

ELEMENTS: dict[DataType, Element] = {
    DataType.FLOAT: "float",
    DataType.INT32: "i32",
    DataType.DOUBLE: "double",
    DataType.INT64: "i64",
}
KEYS: dict[int, Element] = {32: "i64", 64: "i128"}  # what holds an element's rank and its place


def top_k(x: Tensor, values: Tensor, indices: Tensor, axis: int, *, largest: bool) -> Step:
    """The largest or smallest elements along an axis, best first, and where they were; of equal ones the first first.

    x: [..., n, ...]; values: [..., k, ...] of its type, indices: int64 of these dims; k <= n.  NaN is above all numbers.
    """
    element, axis = ELEMENTS[x.dtype], axis % x.rank
    layout = Layout(x.shape, (x.strides, values.strides, indices.strides))
    rows, n, k = rows_of(layout.without(axis), by=1), x.shape[axis], values.shape[axis]
    rank, is_row = rows.rank, x.strides[axis] == 1
    kernel = Kernel(
        f"top_{'largest' if largest else 'smallest'}_{element}{'_row' * is_row}_{rank}",
        lambda name, target: TopText(target, element, rank, largest=largest, is_row=is_row).module(name),
    )
    steps = tuple(one.strides[axis] for one in (x, values, indices))
    args = (x, values, indices, rows.count, rows_of_unit(n), n, k, *steps, *rows.words())
    return Step(
        kernel,
        args,
        units(rows.count, n),
        (x,),
        (values, indices),
        flops=x.count * 4,
        traffic=x.bytes + values.bytes * 3,
        scratch=dim_max(k, 1) * (Kind(element).bits // 4),
    )


class TopText(RowsText):
    """The text of a choice from rows.

    args: x, values, indices, rows, rows of a unit, n, k, steps along the axis of x, values and indices; dims of rows.

    A key is an integer that is greater for a better element: its rank among the numbers in as many bits as an element
    has, then, in as many, its place from the end.  The heap in scratch has the worst of the keys so far at its top.
    """

    def __init__(self, target: Target, element: Element, rank: int, *, largest: bool, is_row: bool) -> None:
        super().__init__(target, element)
        self.largest, self.is_row = largest, is_row
        self.bits = self.scalar.bits
        self.whole = Kind(KEYS[self.bits])
        self.half: Element = "i32" if self.bits == 32 else "i64"
        self.bases = [self.pointer(i) for i in range(3)]
        rows, many, self.n, self.k, *self.steps = (self.size(i) for i in range(3, 10))
        self.each_row(rows, many, self.dims(10, rank, 3), self.best)

    def best(self, _: Value, offsets: list[Value]) -> None:
        x, values = (self.row(base, offset) for base, offset in zip(self.bases[:2], offsets[:2], strict=True))
        indices = self.address(self.bases[2], offsets[2], "i64")

        def some() -> None:
            self.filled(x)
            self.scanned(x)
            self.sorted()
            self.counted(self.zero, self.k, 1, lambda i: self.given(x, values, indices, i), "give")

        self.when(self.k > 0, some)

    # --- keys --------------------------------------------------------------------------------

    def ranks(self, found: Value) -> Value:
        """Integers in the order of elements, the best one the greatest; NaN is above all numbers."""
        if found.kind.is_float:
            greatest = (1 << self.bits - 1) - 1
            bits = (found + 0.0).bits()  # of -0.0, too, those of 0.0
            ordered = bits ^ ((bits >> self.bits - 1) & greatest)
            found = self.select(found.differs(found), self.constant(greatest, ordered.kind), ordered)
        return found if self.largest else found ^ self.constant(-1, found.kind)

    def key(self, x: str, i: Value) -> Value:
        rank = self.ranks(self.read(Slot(self.row(x, i * self.steps[0]), self.scalar)))
        return (rank.converted("sext", self.whole.element) << self.bits) | self.place(self.n - i)

    def place(self, i: Value) -> Value:
        """A place in the lower half of a key."""
        return i if self.bits == 32 else i.converted("zext", self.whole.element)

    def slot(self, i: Value) -> Slot:
        """The place of a key in the heap."""
        return Slot(self.address(self.scratch, i, self.whole.element), self.whole)

    # --- the heap ----------------------------------------------------------------------------

    def filled(self, x: str) -> None:
        """A heap of the first k elements."""
        self.counted(self.zero, self.k, 1, lambda i: self.write(self.slot(i), self.key(x, i)), "fill")
        half = self.k >> 1

        def down(i: Value) -> None:
            at = half - 1 - i
            self.sunk(at, self.k, self.read(self.slot(at)))

        self.counted(self.zero, half, 1, down, "heap")

    def scanned(self, x: str) -> None:
        """The others, which take the place of the worst one if they are better."""
        if not self.is_row or self.lanes == 1:
            self.counted(self.k, self.n, 1, lambda i: self.offered(x, i), "one")
            return

        def block(i: Value) -> None:
            worst = (self.read(self.slot(self.zero)) >> self.bits).converted("trunc", self.half)
            ranks = self.ranks(self.read(Slot(self.row(x, i), self.vector)))
            better = self.intrinsic(
                "vector.reduce.or", ranks > self.spread(worst, self.lanes), kind=Kind("i1")
            )
            self.when(
                better,
                lambda: self.each_lane(x, i),
            )

        done = self.counted(self.k, self.n, self.lanes, block, "block")
        self.counted(done, self.n, 1, lambda i: self.offered(x, i), "one")

    def each_lane(self, x: str, first: Value) -> None:
        self.counted(first, first + self.lanes, 1, lambda i: self.offered(x, i), "lane")

    def offered(self, x: str, i: Value) -> None:
        key = self.key(x, i)
        self.when(key > self.read(self.slot(self.zero)), lambda: self.sunk(self.zero, self.k, key))

    def sorted(self) -> None:
        """The heap from best to worst: again and again the worst one goes behind the others."""

        def last(i: Value) -> None:
            end = self.k - 1 - i
            worst, key = self.read(self.slot(self.zero)), self.read(self.slot(end))
            self.sunk(self.zero, end, key)
            self.write(self.slot(end), worst)

        self.counted(self.zero, self.k - 1, 1, last, "sort")

    def sunk(self, start: Value, count: Value, key: Value) -> None:
        """Puts a key where a place of the heap is free, or below: better ones stay under worse ones."""
        at = self.new_slot("at", I64)
        self.write(at, start)
        head, look, move, done = (self.label(word) for word in ("head", "look", "move", "done"))
        self.jump(head)
        i = self.read(at)
        left = i * 2 + 1
        self.lines.append(f" br {left < count}, label %{look}, label %{done}")
        self._open(look)
        right = self.select(left + 1 < count, left + 1, left)
        keys = [self.read(self.slot(one)) for one in (left, right)]
        is_right = keys[1] < keys[0]
        worse = self.select(is_right, keys[1], keys[0])
        self.lines.append(f" br {worse < key}, label %{move}, label %{done}")
        self._open(move)
        self.write(self.slot(i), worse)
        self.write(at, self.select(is_right, right, left))
        self.lines.append(f" br label %{head}")
        self._open(done)
        self.write(self.slot(self.read(at)), key)

    def given(self, x: str, values: str, indices: str, i: Value) -> None:
        key = self.read(self.slot(i))
        place = self.n - (key & 0xFFFFFFFF if self.bits == 32 else key.converted("trunc", "i64"))
        found = self.read(Slot(self.row(x, place * self.steps[0]), self.scalar))
        self.write(Slot(self.row(values, i * self.steps[1]), self.scalar), found)
        self.write(Slot(self.address(indices, i * self.steps[2], "i64"), I64), place)
