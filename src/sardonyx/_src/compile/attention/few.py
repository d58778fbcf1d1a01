"""A few queries beside one another: vectors run along keys and values, which are read from wherever they are.

Keys go in parts, whose scores are in scratch: sums so far are scaled whenever a part has a greater maximum.
"""

from __future__ import annotations

from collections.abc import Callable

from sardonyx._src.compile.attention.decay import decay
from sardonyx._src.compile.attention.heads import AHEAD, ROUND
from sardonyx._src.compile.attention.stream import Stream
from sardonyx._src.compile.attention.tiles import PAIR, PART, Tiles
from sardonyx._src.compile.blocks import Slot
from sardonyx._src.compile.text import Value


class Few(Tiles):
    """The instructions of a unit of few queries: of `beside` heads of keys, each with up to `TOGETHER` queries."""

    def beside(self, batch: Value, shared: Value, head: Value, chunk: Value) -> None:
        """The results of all queries of a unit, or their parts; elements of keys and values are 1 apart."""
        size, none = self.sizes, self.number(0)
        self.unit_at = batch, shared, head, chunk
        self.heads = self.least(size["groups"] - shared, size["beside"])
        self.queries = size["queries"] * self.least(size["group"] - head, size["together"])
        self.padded = self.queries + (PAIR - 1) & -PAIR
        self.sides = dict(self.at)
        self.streams = {
            name: Stream(self, self.at[name], self.heads * size[length], size[f"{name}_row"])
            for name, length in (("k", "depth"), ("v", "width"))
        }
        self.for_queries(self.padded, self.start)
        first, last = self.first_key(none), self.last_key(size["queries"] - 1)

        def part(key: Value) -> None:
            count = self.least(last - key, self.number(PART))
            self.scores(key, count)
            self.for_queries(self.queries, lambda i: self.soften(i, key, count))
            self.weigh(key, count)

        self.counted(first, last + (PART - 1), PART, part, "key")
        is_whole = size["chunks"].equals(1)
        self.when(is_whole, lambda: self.for_queries(self.queries, self.finish))
        self.when(is_whole.equals(0), lambda: self.for_queries(self.queries, self.leave))
        self.at = dict(self.sides)

    def for_queries(self, count: Value, body: Callable[[Value], None]) -> None:
        """The body for so many queries of each head of keys and values."""
        self.for_heads(lambda: self.stepped(count, 1, body, "query"))

    def for_heads(self, body: Callable[[], None]) -> None:
        """The body for each head of keys and values of the unit, with that head in work."""

        def one(i: Value) -> None:
            self.side, self.own_row = i, i * self.padded
            for name, side in self.sides.items():
                step = i if name in ("k", "v") else i * self.sizes["group"]
                self.at[name] = self.address(side, step * self.sizes[f"{name}_head"], self.element(name))
            body()

        self.counted(self.number(0), self.heads, 1, one, "head")

    def placed(self, name: str, i: Value) -> str:
        """The address of the row of a query of q, y or the mask."""
        head, query = self.divided(i, self.sizes["queries"])
        place = head * self.sizes[f"{name}_head"] + query * self.sizes[f"{name}_row"]
        return self.address(self.at[name], place, self.element(name))

    def place(self, i: Value) -> Value:
        """The place of a query in its head."""
        return self.remainder(i, self.sizes["queries"])

    # --- queries -----------------------------------------------------------------------------

    def start(self, i: Value) -> None:
        """Puts a query, or the last one behind it, into its row."""
        q, elements, results = (
            self.placed("q", self.least(i, self.queries - 1)),
            self.own("q", i),
            self.own("o", i),
        )
        self.each(
            self.sizes["depth"],
            lambda d, mask: self.put(
                self.taken(self.address(q, d), mask) * self.scale, self.address(elements, d)
            ),
        )
        self.each(self.sizes["width"], lambda d, _: self.put(self.zeros, self.address(results, d)))
        self.put(self.lowest, self.own("max", i))
        self.put(self.zeros, self.own("sum", i))

    # --- scores ------------------------------------------------------------------------------

    def soften(self, i: Value, key: Value, count: Value) -> None:
        """A query's scores to exponentials; sums and results so far are scaled to the new maximum."""
        places = [self.own(area, i) for area in ("max", "sum")]
        maximum, total = (self.new_slot(name, self.vector) for name in ("max", "sum"))
        before = self.taken(places[0])
        self.write(maximum, before)
        query, mask = self.place(i), self.mask_row(i)

        def look(at: Value) -> None:
            found = self.seen(i, at, query, mask, key, count)
            self.write(maximum, self.greater(self.read(maximum), found))

        self.stepped(count, self.lanes, look, "look")
        greatest = self.greatest(self.read(maximum))
        base = self.finite(greatest)
        factor = self.called(decay, before - base)
        self.write(total, self.taken(places[1]) * factor)

        def weight(at: Value) -> None:
            score = self.address(self.own("p", i), at)
            found = self.called(decay, self.taken(score) - base)
            self.put(found, score)
            self.write(total, self.read(total) + found)

        self.stepped(count, self.lanes, weight, "weight")
        self.put(greatest, places[0])
        self.put(self.read(total), places[1])
        self.scaled(i, factor)

    def mask_row(self, i: Value) -> str:
        return self.placed("mask", i) if self.form.masked else ""

    def seen(self, i: Value, at: Value, query: Value, mask: str, key: Value, count: Value) -> Value:
        """A vector of a query's scores; -inf behind the last key, and where it does not look at one."""
        score = self.address(self.own("p", i), at)
        found, last = self.taken(score), count
        if self.form.ahead:
            last = self.least(count, self.last_key(query) - key)
        inside = self.inside(last - at)
        if self.form.capped:
            found = self.within_cap(found)
        if self.form.masked:
            found = found + self.biases(mask, key + at, inside)
        found = self.select(inside, found, self.lowest)
        if self.form.behind:
            found = self.select(self.inside(self.first_key(query) - key - at), self.lowest, found)
        self.put(found, score)
        return found

    def scaled(self, i: Value, factor: Value) -> None:
        results = self.own("o", i)

        def scale(d: Value, _: Value | None) -> None:
            place = self.address(results, d)
            self.put(self.taken(place) * factor, place)

        self.each(self.sizes["width"], scale)

    # --- results -----------------------------------------------------------------------------

    def finish(self, i: Value) -> None:
        """Writes a query's result."""
        total = self.new_slot("total", self.vector)
        self.write(total, self.across("add", self.taken(self.own("sum", i))))
        self.cleared(i, total, 1.0)
        inverse = self.inverse(self.read(total))
        y, results = self.placed("y", i), self.own("o", i)
        self.each(
            self.sizes["width"],
            lambda d, mask: self.put(
                self.taken(self.address(results, d)) * inverse, self.address(y, d), mask
            ),
        )

    def leave(self, i: Value) -> None:
        """Writes what a query has made of a chunk of the keys: see `joining`."""
        size = self.sizes
        batch, shared, head, chunk = self.unit_at
        inside, query = self.divided(i, size["queries"])
        whole = (batch * size["groups"] + shared + self.side) * size["group"] + head + inside
        row = (whole * size["queries"] + query) * size["chunks"] + chunk
        part = self.address(self.lists["parts"], row * (self.rounded("width") + AHEAD))
        total, counts = (self.new_slot(name, self.vector) for name in ("total", "counts"))
        self.write(total, self.across("add", self.taken(self.own("sum", i))))
        self.write(counts, self.constant(1.0, self.vector))

        def clear() -> None:
            self.write(counts, self.zeros)
            self.put(self.lowest, self.own("max", i))

        self.cleared(i, total, 0.0, clear)
        heads = (self.taken(self.own("max", i)), self.read(total), self.read(counts))
        for place, value in enumerate(heads):
            self.put(value, self.address(part, self.number(place * ROUND)))
        results, made = self.own("o", i), self.address(part, self.number(AHEAD))
        self.each(
            size["width"],
            lambda d, _: self.put(self.taken(self.address(results, d)), self.address(made, d)),
        )

    def cleared(
        self, i: Value, total: Slot, instead: float, besides: Callable[[], None] = lambda: None
    ) -> None:
        """Zeros for a query that may look at no key, whatever its scores are, and what its sum becomes then."""

        def clear() -> None:
            results = self.own("o", i)
            self.each(self.sizes["width"], lambda d, _: self.put(self.zeros, self.address(results, d)))
            self.write(total, self.constant(instead, self.vector))
            besides()

        def look() -> None:
            self.when(self.is_blind(self.place(i), self.mask_row(i)), clear)

        if self.form.zeros and self.form.hides:
            self.when(self.nothing(self.read(total)), look)
