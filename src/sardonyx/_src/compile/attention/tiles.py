"""The two products of a few queries, whose elements, scores and results are rows in scratch.

Keys and values come from memory once, and in the order in which they are there: those of heads that stand beside one
another row by row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from sardonyx._src.compile.attention.heads import ROUND, Heads
from sardonyx._src.compile.attention.stream import LINE, Stream
from sardonyx._src.compile.blocks import Slot
from sardonyx._src.compile.text import Kind, Value

PART = 256  # keys whose scores are in scratch at a time
PAIR = 2  # queries that are multiplied with a key at a time
# Values that stay in the nearest cache, even if they are a page apart, while all queries take them in.
ROWS = 8
HEIGHTS = (4, PAIR)  # queries of the tiles of sums, the last one no more than a pair
VECTORS = 4  # of a tile


class Tiles(Heads, ABC):
    """The instructions of both products: of queries that are padded to whole pairs.

    Scratch: for each query its elements, its results, vectors of its maximum and its sum, and `PART` scores.
    """

    own_row: Value  # the first one of the head in work
    queries: Value  # of a head
    streams: dict[str, Stream]

    @abstractmethod
    def for_heads(self, body: Callable[[], None]) -> None:
        """The body for each head of keys and values of the unit, with that head in work."""

    def own(self, area: str, i: Value) -> str:
        """The address of what a query of the head in work has in scratch."""
        depth, width = self.rounded("depth"), self.rounded("width")
        lists = depth + width
        places = {"q": self.number(0), "o": depth, "max": lists, "sum": lists + ROUND, "p": lists + 2 * ROUND}
        row = (self.own_row + i) * (lists + (2 * ROUND + PART))
        return self.address(self.scratch, row + places[area])

    def stepped(self, count: Value, step: int, body: Callable[[Value], None], name: str) -> None:
        """The body for each run of `step`, the last one in part, too."""
        self.counted(self.number(0), count + (step - 1), step, body, name)

    # --- scores ------------------------------------------------------------------------------

    def scores(self, key: Value, count: Value) -> None:
        """The scores of `count` keys: of each query a row; behind the last key stand those of the last key."""
        height = self.lanes // self.pair

        def some(i: Value) -> None:
            self.streams["k"].begin(key + i)

            def of_head() -> None:
                keys = [self.row("k", key + self.least(i + r, count - 1)) for r in range(height)]
                self.by_pairs(height, lambda query, lines: self.dot(query, keys, i, lines))

            self.for_heads(of_head)

        self.stepped(count, height, some, "keys")

    @property
    def pair(self) -> int:
        return min(PAIR, self.lanes)

    def by_pairs(self, height: int, body: Callable[[Value, int], None]) -> None:
        """The body for the first query of each pair, and how many lines it fetches with each line of some keys."""
        one, two = self.queries <= self.pair, self.queries <= 2 * self.pair

        def pairs(lines: int) -> None:
            self.stepped(self.queries, self.pair, lambda query: body(query, lines), "pair")

        self.when(one, lambda: pairs(height))
        self.when(one.equals(0) & two, lambda: pairs(max(height // 2, 1)))
        self.when(two.equals(0), lambda: pairs(max(height // 4, 1)))

    def dot(self, query: Value, keys: Sequence[str], place: Value, lines: int) -> None:
        """The products of each of two queries with some keys: as many as there are lanes."""
        queries = [self.own("q", query + j) for j in range(self.pair)]
        sums = [self.new_slot("dot", self.vector) for _ in range(self.lanes)]
        for slot in sums:
            self.write(slot, self.zeros)

        def add(d: Value, mask: Value | None) -> None:
            self.streams["k"].fetch(lines)
            rows = [self.taken(self.address(key, d), mask) for key in keys]
            for j, own in enumerate(queries):
                factor = self.taken(self.address(own, d))
                for slot, row in zip(sums[j * len(keys) :], rows, strict=False):
                    self.write(slot, self.fma(factor, row, self.read(slot)))

        self.along(self.sizes["depth"], add)
        found = self.sums([self.read(slot) for slot in sums])
        for j in range(self.pair):
            scores = found if self.pair == 1 else self.lanes_of(found, j, len(keys))
            self.write(Slot(self.address(self.own("p", query + j), place), scores.kind), scores)

    def lanes_of(self, vector: Value, number: int, lanes: int) -> Value:
        """Some of the lanes of a vector."""
        places = [number * lanes + lane for lane in range(lanes)]
        if lanes == 1:
            return self.emit(Kind("float"), f"extractelement {vector}, i32 {places[0]}")
        return self.shuffled(vector, vector, places)

    # --- values ------------------------------------------------------------------------------

    def weigh(self, key: Value, count: Value) -> None:
        """Adds values, times what has become of their scores, to the results."""

        def some(i: Value) -> None:
            self.streams["v"].begin(key + i)
            last = self.least(i + ROWS, count)

            def of_head() -> None:
                self.by_tiles(
                    lambda query, height: self.across_width(
                        lambda d, vectors, mask: self.tile(query, height, key, (i, last), d, vectors, mask)
                    )
                )

            self.for_heads(of_head)

        self.stepped(count, ROWS, some, "values")

    def by_tiles(self, body: Callable[[Value, int], None]) -> None:
        """The body for the first query of each tile, and its height."""
        high, low = HEIGHTS
        reached = self.counted(self.number(0), self.queries, high, lambda q: body(q, high), "high")
        self.counted(reached, self.queries + (low - 1), low, lambda q: body(q, low), "low")

    def across_width(self, body: Callable[[Value, int, Value | None], None]) -> None:
        """The body for the columns of each tile: where they begin, how many vectors, and the mask of the last one."""
        width = self.sizes["width"]
        reached = self.counted(
            self.number(0), width, VECTORS * self.lanes, lambda d: body(d, VECTORS, None), "d"
        )
        self.each(width - reached, lambda d, mask: body(reached + d, 1, mask))

    def tile(
        self,
        query: Value,
        height: int,
        key: Value,
        rows: tuple[Value, Value],
        d: Value,
        vectors: int,
        mask: Value | None,
    ) -> None:
        """Adds values to some columns of the results of some queries; rows: the first and the end, counted from a key."""
        columns = [d + v * self.lanes for v in range(vectors)]
        places = [self.address(self.own("o", query + j), c) for j in range(height) for c in columns]
        sums = [self.new_slot("sum", self.vector) for _ in places]
        for slot, place in zip(sums, places, strict=True):
            self.write(slot, self.taken(place))
        weights = [self.own("p", query + j) for j in range(height)]
        floats = vectors * self.lanes
        pace = self.select(query.equals(0), self.number(floats), self.number(0))  # one tile fetches for all

        def add(i: Value) -> None:
            self.streams["v"].fetch(max(floats // LINE, 1), pace)
            row = self.row("v", key + i)
            values = [self.taken(self.address(row, column), mask) for column in columns]
            for j, own in enumerate(weights):
                weight = self.scalar(self.address(own, i))
                for slot, value in zip(sums[j * vectors :], values, strict=False):
                    self.write(slot, self.fma(weight, value, self.read(slot)))

        self.counted(*rows, 1, add, "value")
        for slot, place in zip(sums, places, strict=True):
            self.put(self.read(slot), place)
