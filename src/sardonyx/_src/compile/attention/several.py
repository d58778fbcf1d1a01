"""Queries in lanes: a panel of them is multiplied by keys, softmax goes down the lanes, then come the values.

Scores of all keys need not fit: sums so far are scaled whenever a later part of the keys has a greater maximum.
"""

from __future__ import annotations

from collections.abc import Callable

from sardonyx._src.compile.attention.decay import decay
from sardonyx._src.compile.attention.heads import KEYS, QUERIES, Heads
from sardonyx._src.compile.blocks import Slot
from sardonyx._src.compile.text import Kind, Value

TURNS = 4  # keys at a time, whose maxima and sums do not wait for one another


class Several(Heads):
    """The instructions for a panel of queries, `pitch` of them with those behind the last one."""

    pitch: Value
    places: dict[str, str]  # of what is in scratch
    product: str  # address of the function that multiplies panels of this pitch

    def panel(self, query: Value, count: Value) -> None:
        """The results of `count` queries, up to a panel."""
        self.places = self.areas()
        self.columns(lambda column: self.take(query, column))
        end = self.last_key(query + count - 1)
        self.counted(
            self.first_key(query),
            end + (KEYS - 1),
            KEYS,
            lambda key: self.part(query, key, self.least(end - key, self.number(KEYS))),
            "key",
        )
        if self.form.zeros and self.form.hides:
            self.counted(self.number(0), count, 1, lambda i: self.cleared_column(query, i), "blind")
        whole = count + (self.lanes - 1)
        self.counted(
            self.number(0), whole, self.lanes, lambda column: self.give(query, column, count), "give"
        )

    def areas(self) -> dict[str, str]:
        """Scratch: maxima, sums and factors of queries; queries, results and scores, each a row of queries for an item."""
        one, none = self.number(1), self.number(0)
        depth, width = self.rounded("depth"), self.rounded("width")
        rows = {"max": one, "sum": one, "factor": one, "q": depth, "o": width, "p": none}
        found, at = {}, none
        for name, count in rows.items():
            found[name] = self.address(self.scratch, at)
            at = at + count * QUERIES
        return found

    def columns(self, body: Callable[[Value], None]) -> None:
        """The body for each vector of queries, by the number of its first one in the panel."""
        self.counted(self.number(0), self.pitch, self.lanes, body, "column")

    def cell(self, area: str, row: Value, column: Value) -> str:
        return self.address(self.places[area], row * self.pitch + column)

    def take(self, query: Value, column: Value) -> None:
        """Puts a vector of queries crosswise into the panel, and nothing into their results."""
        for name, value in (("max", self.lowest), ("sum", self.zeros)):
            self.put(value, self.address(self.places[name], column))
        rows = [self.row("q", self.held(query + column + i)) for i in range(self.lanes)]

        def block(d: Value, mask: Value | None) -> None:
            found = self.transposed([self.taken(self.address(row, d), mask) * self.scale for row in rows])
            for i, value in enumerate(found):
                self.put(value, self.cell("q", d + i, column))

        self.each(self.sizes["depth"], block)
        self.counted(
            self.number(0),
            self.sizes["width"],
            1,
            lambda d: self.put(self.zeros, self.cell("o", d, column)),
            "o",
        )

    def held(self, query: Value) -> Value:
        """The query, or the last one instead of those behind it."""
        return self.least(query, self.sizes["queries"] - 1)

    def part(self, query: Value, key: Value, count: Value) -> None:
        """Adds the values of some keys, by their scores, to the sums so far."""
        size, place = self.sizes, self.places
        depth = size["depth"]
        self.multiply(self.row("k", key), (size["k_row"], size["k_step"]), "q", depth, "p", count, "null")
        if self.form.capped:
            self.counted(self.number(0), count * self.pitch, self.lanes, self.capped, "cap")
        if self.form.masked:
            self.mask(query, key, count)
        self.columns(lambda column: self.softmax(query, key, count, column))
        step = (size["v_step"], size["v_row"])
        self.multiply(self.row("v", key), step, "p", count, "o", size["width"], place["factor"])

    def multiply(
        self, a: str, steps: tuple[Value, Value], b: str, k: Value, c: str, rows: Value, factor: str
    ) -> None:
        row, step = steps
        given = (
            f"ptr {a}, {row}, {step}, ptr {self.places[b]}, {k}, ptr {self.places[c]}, {rows}, ptr {factor}"
        )
        self.lines.append(f" call void {self.product}({given})")

    # --- scores ------------------------------------------------------------------------------

    def capped(self, i: Value) -> None:
        place = self.address(self.places["p"], i)
        self.put(self.within_cap(self.taken(place)), place)

    def mask(self, query: Value, key: Value, count: Value) -> None:
        """Adds the mask: one number for all queries, or crosswise."""
        is_shared = self.sizes["mask_row"].equals(0)
        self.when(is_shared, lambda: self.add_shared(key, count))
        self.when(is_shared.equals(0), lambda: self.columns(lambda c: self.add_own(query, key, count, c)))

    def add_shared(self, key: Value, count: Value) -> None:
        def row(i: Value) -> None:
            number = self.bias(self.at["mask"], (key + i) * self.sizes["mask_step"])
            self.columns(lambda column: self.add(self.cell("p", i, column), number))

        self.counted(self.number(0), count, 1, row, "shared")

    def add_own(self, query: Value, key: Value, count: Value, column: Value) -> None:
        rows = [self.row("mask", self.held(query + column + i)) for i in range(self.lanes)]

        def block(i: Value, mask: Value | None) -> None:
            found = self.transposed([self.biases(row, key + i, mask) for row in rows])
            for j, value in enumerate(found):
                self.add(self.cell("p", i + j, column), value)

        self.each(count, block)

    def add(self, place: str, value: Value) -> None:
        self.put(self.taken(place) + value, place)

    def softmax(self, query: Value, key: Value, count: Value, column: Value) -> None:
        """Scores of a vector of queries to exponentials, and what earlier sums are multiplied by."""
        even = count + (TURNS - 1) & -TURNS
        self.counted(count, even, 1, lambda i: self.put(self.lowest, self.cell("p", i, column)), "even")
        places = {name: self.address(self.places[name], column) for name in ("max", "sum", "factor")}
        before = self.taken(places["max"])
        greatest = self.folded(even, before, self.greater, lambda i: self.score(query, key, i, column))
        base = self.finite(greatest)
        factor = self.called(decay, before - base)
        self.put(greatest, places["max"])
        self.put(factor, places["factor"])

        def weight(i: Value) -> Value:
            place = self.cell("p", i, column)
            found = self.called(decay, self.taken(place) - base)
            self.put(found, place)
            return found

        total = self.folded(even, self.zeros, lambda a, b: a + b, weight)
        self.put(self.fma(self.taken(places["sum"]), factor, total), places["sum"])

    def score(self, query: Value, key: Value, i: Value, column: Value) -> Value:
        """The scores of a key; -inf for queries that do not look at it."""
        place = self.cell("p", i, column)
        found = self.taken(place)
        if not (self.form.ahead or self.form.behind):
            return found
        sizes, at = self.sizes, key + i - self.shift - query - column
        if self.form.ahead:
            found = self.select(self.lane >= self.lane_of(at - sizes["ahead"] + 1), found, self.lowest)
        if self.form.behind:
            found = self.select(self.lane <= self.lane_of(at - sizes["back"]), found, self.lowest)
        self.put(found, place)
        return found

    @property
    def lane(self) -> Value:
        """The number of each lane."""
        lanes = ", ".join(f"i32 {lane}" for lane in range(self.lanes))
        return Value(self, Kind("i32", self.lanes), f"<{lanes}>" if self.lanes > 1 else "0")

    def lane_of(self, place: Value) -> Value:
        """A place counted from the first lane, in every lane; one before or behind them all if it is far off."""
        found = self.least(place, self.number(self.lanes))
        found = self.select(found < 0, self.number(-1), found)
        return self.spread(found.converted("trunc", "i32"), self.lanes)

    def folded(
        self, count: Value, start: Value, op: Callable[[Value, Value], Value], each: Callable[[Value], Value]
    ) -> Value:
        """What `each` makes for 0..count, in whole turns, taken together by chains that are joined at the end."""
        slots = [self.new_slot("fold", self.vector) for _ in range(TURNS)]
        for slot in slots:
            self.write(slot, start)

        def turn(i: Value) -> None:
            for j, slot in enumerate(slots):
                self.write(slot, op(self.read(slot), each(i + j)))

        self.counted(self.number(0), count, TURNS, turn, "fold")
        first, second, third, fourth = (self.read(slot) for slot in slots)
        return op(op(first, second), op(third, fourth))

    # --- results -----------------------------------------------------------------------------

    def cleared_column(self, query: Value, i: Value) -> None:
        """Zeros for a query of the panel that may look at no key, whatever its scores are."""
        place = Slot(self.address(self.places["sum"], i), Kind("float"))

        def clear() -> None:
            none = self.constant(0.0, place.kind)
            self.write(place, self.constant(1.0, place.kind))
            self.counted(
                self.number(0),
                self.sizes["width"],
                1,
                lambda d: self.write(Slot(self.cell("o", d, i), place.kind), none),
                "none",
            )

        def look() -> None:
            mask = self.row("mask", query + i) if self.form.masked else ""
            self.when(self.is_blind(query + i, mask), clear)

        self.when((self.read(place) > 0).equals(0), look)

    def give(self, query: Value, column: Value, count: Value) -> None:
        """Writes the results of a vector of queries, each a row.

        Lanes behind the last query write its row, too, but before it does itself.
        """
        inverse = self.inverse(self.taken(self.address(self.places["sum"], column)))
        last = query + count - 1
        rows = [self.row("y", self.least(query + column + i, last)) for i in range(self.lanes)]

        def block(d: Value, mask: Value | None) -> None:
            found = [self.taken(self.cell("o", d + i, column)) * inverse for i in range(self.lanes)]
            for row, value in reversed(list(zip(rows, self.transposed(found), strict=True))):
                self.put(value, self.address(row, d), mask)

        self.each(self.sizes["width"], block)
