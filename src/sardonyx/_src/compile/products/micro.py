"""A tile of a product in registers: sums start, run over k, and are written behind a tail.

The loops around it are those of a matrix product, a convolution or anything else that knows where rows of A are:

    code = Micro(tile, tail, fused)
    result = code.result(index)                       # reads where the result is from the arguments
    def sums(rows):                                   # called for a whole tile and for lower ones
        code.start(rows, bias)                        # or code.resume(rows, partial)
        code.accumulate(addresses, panel, k)          # as often as there are parts of k
    code.block(left, sums, Ending(result, row, column, end))

Each sum is made in the order of k, so that its bits do not depend on how many rows a tile has.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.elements import converted
from sardonyx._src.compile.loops.ir import Apply, Load, Local, Select, distinct
from sardonyx._src.compile.math.table import FUNCTIONS
from sardonyx._src.compile.products.ending import Ending, Operand, Result
from sardonyx._src.compile.products.tiles import Tile
from sardonyx._src.compile.tail import Tail
from sardonyx._src.compile.text import Element, Kind, Value
from sardonyx._src.compile.values import KernelText

FLOAT = Kind("float")
LINE = 16  # floats of a cache line
STEADY = 20  # multiply-adds in a turn of the loop over k that hide the loop itself
CHEAP = 8  # operations of a tail that may be written out for every vector of a tile


class Micro(KernelText):
    """The instructions of a kernel around a tile of sums.

    half: what B is of, where that is not float32.
    """

    half: Element | None = None

    def __init__(self, tile: Tile, tail: Tail, fused: bool) -> None:
        super().__init__(fused)
        self.tile, self.tail = tile, tail
        self.vector = Kind("float", tile.lanes)
        self.sums = [
            [self.new_slot("sum", self.vector) for _ in range(tile.vectors)] for _ in range(tile.rows)
        ]
        self.slots.append(f" %kept = alloca [{tile.rows * tile.width} x float], align 64")

    def result(self, index: int) -> Result:
        """What the arguments from a place on say about the result, as `result_arguments` puts them."""
        address, pitch = self.pointer(index), self.size(index + 1)
        operands, at = [], index + 2
        for how in self.tail.operands:
            is_matrix = how == "matrix"
            operands.append(Operand(how, self.pointer(at), self.size(at + 1) if is_matrix else None))
            at += 2 if is_matrix else 1
        return Result(address, pitch, tuple(operands))

    def block(self, left: Value, sums: Callable[[int], None], ending: Ending) -> None:
        """Sums of as many rows as are left, at most a whole tile, and what becomes of them.

        sums: emits them for a number of rows, as in `by_rows`.
        """
        is_direct = self.is_direct(left, ending)
        kept = ending.kept or "%kept"

        def body(rows: int) -> None:
            sums(rows)
            if rows < self.tile.rows:
                self.keep(rows, kept)
                return
            is_whole = self.is_whole(ending)
            self.when(is_direct & is_whole, lambda: self.finish(ending, masked=False))
            if self.tile.lanes > 1:
                self.when(is_direct & is_whole.equals(0), lambda: self.finish(ending, masked=True))
            self.when(is_direct.equals(0), lambda: self.keep(rows, kept))

        self.by_rows(left, body)
        is_kept = is_direct.equals(0)
        if ending.is_last is not None:
            is_kept = is_kept & ending.is_last
        self.when(is_kept, lambda: self.finish_kept(left, kept, ending))

    def by_rows(self, left: Value, body: Callable[[int], None]) -> None:
        """The body for a whole tile, or for the least of the lower ones that has all rows that are left.

        Its number of rows may be more than are left: rows of A behind the last are any that may be read, as those of
        `clamped`, and there must be room for their sums where these are kept.
        """
        below = 0
        for rows in self.tile.heights:
            fits = left > below
            if rows < self.tile.rows:
                fits = fits & (left <= rows)
            self.when(fits, partial(body, rows))
            below = rows

    def is_direct(self, left: Value, ending: Ending) -> Value:
        """Whether a tile is written out of the registers: all of its rows, behind few operations."""
        if not is_cheap(self.tail):
            return self.constant(0, Kind("i1"))
        found = left >= self.tile.rows
        if self.tile.lanes == 1:  # no masks
            found &= self.is_whole(ending)
        return found if ending.is_last is None else found & ending.is_last

    def is_whole(self, ending: Ending) -> Value:
        """Whether all columns of the tile are of the result."""
        return ending.column + self.tile.width <= ending.end

    def clamped(self, row: int, left: Value) -> Value:
        """A row of the tile, or the last one that there is."""
        last = left - 1
        return self.select(last < row, last, self.constant(row, I64))

    # --- sums --------------------------------------------------------------------------------

    def start(self, rows: int, bias: str | None = None) -> None:
        """Sums begin with the bias at an address, a number for each column of the panel, or with 0."""
        if bias is not None:
            self.resume(rows, bias, self.constant(0, I64))
            return
        for sums in self.sums[:rows]:
            for slot in sums:
                self.write(slot, self.constant(0.0, self.vector))

    def resume(self, rows: int, partial: str, pitch: Value | None = None) -> None:
        """Sums go on from what stands at an address, rows `pitch` floats apart (a panel's width if None)."""
        for slot, place in self.places(rows, partial, pitch):
            self.write(slot, self.read(place))

    def keep(self, rows: int, partial: str, pitch: Value | None = None) -> None:
        """Puts the sums at an address, from where `resume` takes them."""
        for slot, place in self.places(rows, partial, pitch):
            self.write(place, self.read(slot))

    def places(self, rows: int, partial: str, pitch: Value | None) -> list[tuple[Slot, Slot]]:
        """The sums, and where they are kept."""
        pitch = self.constant(self.tile.width, I64) if pitch is None else pitch
        found = []
        for r, sums in enumerate(self.sums[:rows]):
            row = self.address(partial, pitch * r)
            for v, slot in enumerate(sums):
                found.append((slot, self.vector_at(row, self.constant(v * self.tile.lanes, I64))))
        return found

    def accumulate(
        self, rows: Sequence[str], panel: str, k: Value, stride: Value | None = None, ahead: str | None = None
    ) -> None:
        """Adds A[r, 0..k] * B[0..k, width] to the sums of each row r.

        rows: addresses of rows of A, whose elements are `stride` floats apart (1 if None).  panel: address of B, of `half`.
        ahead: an address from which k cache lines are fetched meanwhile.
        """
        turns = max(1, STEADY // (self.tile.vectors * len(rows)))
        turns = 1 << turns.bit_length() - 1  # a power of two
        reached = self.constant(0, I64)
        if turns > 1:

            def several(i: Value) -> None:
                for turn in range(turns):
                    self.one(rows, panel, i + turn, stride, ahead)

            reached = self.counted(reached, k, turns, several, "k")

        self.counted(reached, k, 1, lambda i: self.one(rows, panel, i, stride, ahead), "k")

    def prefetch(self, address: str, floats: Value) -> None:
        """Fetches the cache line of a float counted from an address, which need not be one that may be read."""
        self.declarations["declare void @llvm.prefetch.p0(ptr, i32 immarg, i32 immarg, i32 immarg)"] = None
        place = self.address(address, floats)
        self.lines.append(f" call void @llvm.prefetch.p0(ptr {place}, i32 0, i32 2, i32 1)")

    def one(self, rows: Sequence[str], panel: str, k: Value, stride: Value | None, ahead: str | None) -> None:
        """Adds one column of A times one row of B."""
        if ahead is not None:
            self.prefetch(ahead, k * LINE)
        base = k * self.tile.width
        b = [self.of_panel(panel, base + v * self.tile.lanes) for v in range(self.tile.vectors)]
        at = k if stride is None else k * stride
        for row, sums in zip(rows, self.sums, strict=False):
            a = self.spread(self.read(Slot(self.address(row, at), FLOAT)), self.tile.lanes)
            for v, slot in enumerate(sums):
                self.write(slot, self.fma(a, b[v], self.read(slot)))

    def of_panel(self, panel: str, index: Value) -> Value:
        """A vector of B."""
        if self.half is None:
            return self.read(self.vector_at(panel, index))
        found = self.read(Slot(self.beyond(panel, index), self.vector.of(self.half)))
        return converted(self, found, "float")

    def beyond(self, base: str, index: Value) -> str:
        """The address of an element of B."""
        return self.address(base, index, "float" if self.half is None else "i16")

    @property
    def line(self) -> int:
        """How many elements of B are in a line of the cache."""
        return LINE if self.half is None else 2 * LINE

    # --- results -----------------------------------------------------------------------------

    def finish(self, ending: Ending, *, masked: bool) -> None:
        """Writes all rows of a tile, behind the tail; masked if some columns are not of the result."""
        columns = [ending.column + v * self.tile.lanes for v in range(self.tile.vectors)]
        masks = [self.mask(column, ending.end) if masked else None for column in columns]
        for r, sums in enumerate(self.sums):
            for slot, column, mask in zip(sums, columns, masks, strict=True):
                self.put(self.read(slot), ending.row + r, column, ending, mask)

    def finish_kept(self, left: Value, kept: str, ending: Ending) -> None:
        """The same by a loop, which is less code, over sums in memory, as far as the result goes."""
        zero, width = self.constant(0, I64), self.tile.width
        count = self.select(left < self.tile.rows, left, self.constant(self.tile.rows, I64))

        def vectors(r: Value) -> None:
            def vector(v: Value) -> None:
                column = ending.column + v
                value = self.read(self.vector_at(kept, r * width + v))
                is_whole = column + self.tile.lanes <= ending.end
                self.when(is_whole, lambda: self.put(value, ending.row + r, column, ending, None))
                is_part = is_whole.equals(0) & (column < ending.end)
                mask = self.mask(column, ending.end)
                self.when(is_part, lambda: self.put(value, ending.row + r, column, ending, mask))

            is_whole = self.is_whole(ending)
            self.when(is_whole, lambda: self.put_row(r, kept, ending))
            part = self.select(is_whole, zero, self.constant(width, I64))
            self.counted(zero, part, self.tile.lanes, vector, "v")

        self.counted(zero, count, 1, vectors, "r")

    def put_row(self, r: Value, kept: str, ending: Ending) -> None:
        """Writes a whole row of a tile; the tails of its vectors are worked out side by side."""
        lanes, row = self.tile.lanes, self.placed(ending.row + r)
        starts = [self.constant(v * lanes, I64) for v in range(self.tile.vectors)]
        sums = [self.read(self.vector_at(kept, r * self.tile.width + at)) for at in starts]
        leaves = [
            partial(self.leaf, value, row, ending.column + at, None, ending.result)
            for value, at in zip(sums, starts, strict=True)
        ]
        found = self.together([self.tail.value], [self.written_kind], leaves)
        for at, (value,) in zip(starts, found, strict=True):
            self.write(self.result_at(ending.result, row, ending.column + at), value)

    def put(self, value: Value, row: Value, column: Value, ending: Ending, mask: Value | None) -> None:
        """Writes a vector behind the tail, in the lanes of a mask."""
        result, row = ending.result, self.placed(row)
        leaf = partial(self.leaf, value, row, column, mask, result)
        found = self.evaluated(self.tail.value, self.written_kind, leaf)
        place = self.result_at(result, row, column)
        if mask is None or self.tile.lanes == 1:  # a mask of one lane holds wherever it is asked for
            self.write(place, found)
        else:
            self.write_where(mask, place, found)

    @property
    def written_kind(self) -> Kind:
        """What a vector of the result is of."""
        return self.vector

    def result_at(self, result: Result, row: Value, column: Value) -> Slot:
        return self.vector_at(result.address, row * result.pitch + column)

    def leaf(
        self,
        value: Value,
        row: Value,
        column: Value,
        mask: Value | None,
        result: Result,
        name: Local | Load,
    ) -> Value:
        """What a name in the tail stands for beside a vector of sums."""
        assert isinstance(name, Local), f"a tail has no {name}"
        if name.name == "x":
            return value
        return self.operand_at(result.operands[int(name.name[1:])], row, column, mask)

    def placed(self, row: Value) -> Value:
        """Where a row of the sums stands in the result, counted in rows."""
        return row

    def operand_at(self, operand: Operand, row: Value, column: Value, mask: Value | None) -> Value:
        """The vector of a tail's operand beside a vector of the result."""
        if operand.how == "scalar":
            return self.spread(self.read(Slot(operand.address, FLOAT)), self.tile.lanes)
        at = column if operand.pitch is None else row * operand.pitch + column
        place = self.vector_at(operand.address, at)
        return self.read(place) if mask is None or self.tile.lanes == 1 else self.read_where(mask, place)

    # --- parts of vectors --------------------------------------------------------------------

    def vector_at(self, base: str, index: Value) -> Slot:
        return Slot(self.address(base, index), self.vector)

    def mask(self, column: Value, end: Value) -> Value:
        """The lanes of a vector from a column on that lie before the end."""
        if self.tile.lanes == 1:
            return column < end
        return self.first_lanes(end - column, self.tile.lanes)


def is_cheap(tail: Tail) -> bool:
    """Whether a tail is a handful of instructions."""
    work = [one for one in distinct(tail.value) if isinstance(one, Apply | Select)]
    return len(work) <= CHEAP and all(isinstance(one, Select) or one.op not in FUNCTIONS for one in work)
