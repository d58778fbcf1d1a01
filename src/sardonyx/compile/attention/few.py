"""One query at a time: vectors run along keys and values, which are read once from wherever they are."""

from __future__ import annotations

from sardonyx.compile.attention.decay import decay
from sardonyx.compile.attention.heads import Heads
from sardonyx.compile.blocks import Slot
from sardonyx.compile.text import Value

SCORES = 1024  # of a query that are in scratch at a time, at most `KEYS * QUERIES`
TOGETHER = 4  # vectors of sums that do not wait for one another


class Few(Heads):
    """The instructions for queries that are too few to fill the lanes."""

    def query(self, query: Value) -> None:
        """The result of one query; elements of keys and values are 1 apart."""
        q = self.row("q", query)
        self.each(
            self.sizes["depth"],
            lambda d, mask: self.put(
                self.taken(self.address(q, d), mask) * self.scale, self.address(self.places["q"], d)
            ),
        )
        self.each(self.sizes["width"], lambda d, _: self.put(self.zeros, self.address(self.places["o"], d)))
        maximum, total = (self.new_slot(name, self.vector) for name in ("max", "total"))
        self.write(maximum, self.lowest)
        self.write(total, self.zeros)
        end = self.last_key(query)
        self.counted(
            self.number(0),
            end + (SCORES - 1),
            SCORES,
            lambda key: self.some(query, key, self.least(end - key, self.number(SCORES)), maximum, total),
            "key",
        )
        self.result(query, self.inverse(self.across("add", self.read(total))))

    def some(self, query: Value, key: Value, count: Value, maximum: Slot, total: Slot) -> None:
        """Adds the values of some keys, by their scores, to the sums so far."""
        zero, before = self.number(0), self.read(maximum)
        self.counted(
            zero,
            count + (self.lanes - 1),
            self.lanes,
            lambda i: self.scores(query, key, i, count, maximum),
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
        self.values(key, count, factor)

    def scores(self, query: Value, key: Value, first: Value, count: Value, maximum: Slot) -> None:
        """The scores of as many keys as there are lanes; -inf behind the last one."""
        last = count - 1
        keys = [key + self.least(first + i, last) for i in range(self.lanes)]
        found = self.dots(self.places["q"], [self.row("k", one) for one in keys], self.sizes["depth"])
        inside = self.inside(count - first)
        if self.masked:
            mask = self.address(self.row("mask", query), key + first)
            found = found + self.taken(mask, inside)
        found = self.select(inside, found, self.lowest)
        self.put(found, self.address(self.places["p"], first))
        self.write(maximum, self.greater(self.read(maximum), found))

    def values(self, key: Value, count: Value, factor: Value) -> None:
        """Weighted sums of values, several vectors at a time and what is left one by one."""
        width, step = self.sizes["width"], TOGETHER * self.lanes
        reached = self.counted(
            self.number(0), width, step, lambda d: self.weighted(key, count, factor, d, TOGETHER, None), "d"
        )
        left = width - reached
        self.each(left, lambda d, mask: self.weighted(key, count, factor, reached + d, 1, mask))

    def weighted(
        self, key: Value, count: Value, factor: Value, d: Value, vectors: int, mask: Value | None
    ) -> None:
        columns = [d + v * self.lanes for v in range(vectors)]
        places = [self.address(self.places["o"], column) for column in columns]
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

    def result(self, query: Value, inverse: Value) -> None:
        y = self.row("y", query)
        self.each(
            self.sizes["width"],
            lambda d, mask: self.put(
                self.taken(self.address(self.places["o"], d)) * inverse, self.address(y, d), mask
            ),
        )
