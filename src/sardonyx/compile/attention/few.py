"""A few queries one by one: vectors run along keys and values, which are read from wherever they are.

Keys go in parts that stay in the nearer caches while all of the queries look at them.
"""

from __future__ import annotations

from sardonyx.compile.attention.decay import decay
from sardonyx.compile.attention.heads import Heads
from sardonyx.compile.blocks import Slot
from sardonyx.compile.text import Kind, Value

SCORES = 512  # of a query that are in scratch at a time, at most `KEYS * QUERIES`
TOGETHER = 4  # vectors of sums that do not wait for one another


class Few(Heads):
    """The instructions for queries that are too few to fill the lanes: up to `QUERIES` / lanes of them.

    Scratch: maximum and sum of each query are vectors, its elements and its results rows.
    """

    def one_by_one(self, query: Value, count: Value) -> None:
        """The results of `count` queries; elements of keys and values are 1 apart."""
        none, last = self.number(0), query + count - 1
        self.counted(none, count, 1, lambda i: self.start(query + i, i), "start")
        end = self.last_key(last)

        def part(key: Value) -> None:
            self.counted(none, count, 1, lambda i: self.part_of(query + i, i, key), "query")

        self.counted(self.first_key(query), end + (SCORES - 1), SCORES, part, "key")
        self.counted(none, count, 1, lambda i: self.finish(query + i, i), "finish")

    def start(self, query: Value, i: Value) -> None:
        q, elements, results = self.row("q", query), self.own("q", i), self.own("o", i)
        self.each(
            self.sizes["depth"],
            lambda d, mask: self.put(
                self.taken(self.address(q, d), mask) * self.scale, self.address(elements, d)
            ),
        )
        self.each(self.sizes["width"], lambda d, _: self.put(self.zeros, self.address(results, d)))
        self.write(self.held_in("max", i), self.lowest)
        self.write(self.held_in("sum", i), self.zeros)

    def own(self, area: str, i: Value) -> str:
        """The address of a query's row in scratch."""
        return self.address(self.places[area], i * self.rounded("depth" if area == "q" else "width"))

    def held_in(self, area: str, i: Value) -> Slot:
        """Where a query's maximum or sum stands, of which each lane has a part."""
        return Slot(self.address(self.places[area], i * self.lanes), self.vector)

    def part_of(self, query: Value, i: Value, key: Value) -> None:
        """What a query makes of those keys of a part that it looks at."""
        first, end = self.first_key(query), self.least(self.last_key(query), key + SCORES)
        first = self.select(first < key, key, first)
        self.when(first < end, lambda: self.some(query, i, first, end - first))

    def finish(self, query: Value, i: Value) -> None:
        total = self.new_slot("total", self.vector)
        self.write(total, self.across("add", self.read(self.held_in("sum", i))))
        if self.form.zeros and self.form.hides:
            self.when(self.nothing(self.read(total)), lambda: self.cleared(query, i, total))
        self.result(query, i, self.inverse(self.read(total)))

    def nothing(self, total: Value) -> Value:
        """Whether a sum of weights, the same in every lane, is not above 0."""
        if self.lanes > 1:
            total = self.emit(Kind("float"), f"extractelement {total}, i32 0")
        return (total > 0).equals(0)

    def cleared(self, query: Value, i: Value, total: Slot) -> None:
        """Zeros for a query that may look at no key, whatever its scores are."""

        def clear() -> None:
            results = self.own("o", i)
            self.each(self.sizes["width"], lambda d, _: self.put(self.zeros, self.address(results, d)))
            self.write(total, self.constant(1.0, self.vector))

        self.when(self.is_blind(query), clear)

    def some(self, query: Value, number: Value, key: Value, count: Value) -> None:
        """Adds the values of some keys, by their scores, to the sums so far."""
        places = [self.held_in(area, number) for area in ("max", "sum")]
        maximum, total = (self.new_slot(name, self.vector) for name in ("max", "sum"))
        for slot, place in zip((maximum, total), places, strict=True):
            self.write(slot, self.read(place))
        zero, before = self.number(0), self.read(maximum)
        self.counted(
            zero,
            count + (self.lanes - 1),
            self.lanes,
            lambda i: self.scores(query, number, key, i, count, maximum),
            "score",
        )
        greatest = self.across("max", self.read(maximum))
        self.write(maximum, greatest)
        base = self.finite(greatest)
        factor = self.called(decay, before - base)
        self.write(total, self.read(total) * factor)

        def weigh(i: Value) -> None:
            place = self.address(self.places["p"], i)
            weight = self.called(decay, self.taken(place) - base)
            self.put(weight, place)
            self.write(total, self.read(total) + weight)

        self.counted(zero, count + (self.lanes - 1), self.lanes, weigh, "weight")
        self.write(places[0], greatest)
        self.write(places[1], self.read(total))
        self.values(number, key, count, factor)

    def scores(
        self, query: Value, number: Value, key: Value, first: Value, count: Value, maximum: Slot
    ) -> None:
        """The scores of as many keys as there are lanes; -inf behind the last one."""
        last = count - 1
        keys = [key + self.least(first + i, last) for i in range(self.lanes)]
        found = self.dots(self.own("q", number), [self.row("k", one) for one in keys], self.sizes["depth"])
        inside = self.inside(count - first)
        if self.form.capped:
            found = self.within_cap(found)
        if self.form.masked:
            found = found + self.biases(self.row("mask", query), key + first, inside)
        found = self.select(inside, found, self.lowest)
        self.put(found, self.address(self.places["p"], first))
        self.write(maximum, self.greater(self.read(maximum), found))

    def values(self, number: Value, key: Value, count: Value, factor: Value) -> None:
        """Weighted sums of values, several vectors at a time and what is left one by one."""
        width, step = self.sizes["width"], TOGETHER * self.lanes
        reached = self.counted(
            self.number(0),
            width,
            step,
            lambda d: self.weighted(number, key, count, factor, d, TOGETHER, None),
            "d",
        )
        left = width - reached
        self.each(left, lambda d, mask: self.weighted(number, key, count, factor, reached + d, 1, mask))

    def weighted(
        self,
        number: Value,
        key: Value,
        count: Value,
        factor: Value,
        d: Value,
        vectors: int,
        mask: Value | None,
    ) -> None:
        columns = [d + v * self.lanes for v in range(vectors)]
        results = self.own("o", number)
        places = [self.address(results, column) for column in columns]
        slots = [self.new_slot("value", self.vector) for _ in columns]
        for slot, place in zip(slots, places, strict=True):
            self.write(slot, self.taken(place) * factor)

        def add(i: Value) -> None:
            weight, row = self.scalar(self.address(self.places["p"], i)), self.row("v", key + i)
            for slot, column in zip(slots, columns, strict=True):
                value = self.taken(self.address(row, column), mask)
                self.write(slot, self.fma(weight, value, self.read(slot)))

        self.counted(self.number(0), count, 1, add, "value")
        for slot, place in zip(slots, places, strict=True):
            self.put(self.read(slot), place)

    def result(self, query: Value, i: Value, inverse: Value) -> None:
        y, results = self.row("y", query), self.own("o", i)
        self.each(
            self.sizes["width"],
            lambda d, mask: self.put(
                self.taken(self.address(results, d)) * inverse, self.address(y, d), mask
            ),
        )
