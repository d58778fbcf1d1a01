"""The two matrix products of the decode attention kernel: scores = q * k' and outputs += scores * v.

Queries, scores and outputs are rows in scratch.  Keys and values are read from memory once, in address order and with
software prefetch: heads whose rows are adjacent in memory are visited row by row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from sardonyx._src.compile.codegen.blocks import StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.kernels.attention.attention_emitter import ALIGNED_FLOATS, AttentionEmitter
from sardonyx._src.compile.kernels.attention.prefetch import PrefetchStream
from sardonyx._src.compile.kernels.gemm.accumulators import CACHE_LINE_FLOATS

DECODE_KEY_BLOCK = 256  # keys whose scores are in scratch at a time
QUERY_PAIR = 2  # queries whose dot products with a key are computed together
# Rows of values that stay in L1, even if they are a page apart, until all queries have used them.
VALUE_ROWS = 8
TILE_QUERIES = (4, QUERY_PAIR)  # heights of the register tiles; the last one may be partial
TILE_VECTORS = 4  # width of a register tile


class DecodeProductsEmitter(AttentionEmitter, ABC):
    """Emits both products; the queries of a head are padded to whole pairs.

    Scratch, a row for each query: its elements [D], its output [E], vectors of its running maximum and sum, and its
    scores [DECODE_KEY_BLOCK].
    """

    first_scratch_row: LLVMValue  # of the current head
    query_count: LLVMValue  # of a head of keys and values
    streams: dict[str, PrefetchStream]

    @abstractmethod
    def for_heads(self, body: Callable[[], None]) -> None:
        """The body for each head of keys and values of the unit, as the current head."""

    def scratch_row(self, area: str, i: LLVMValue) -> str:
        """The address in scratch of what query number i of the current head has: its "q", "o", "max", "sum" or "p"."""
        depth, width = self.aligned_size("depth"), self.aligned_size("width")
        rows = depth + width
        offsets = {
            "q": self.i64(0),
            "o": depth,
            "max": rows,
            "sum": rows + ALIGNED_FLOATS,
            "p": rows + 2 * ALIGNED_FLOATS,
        }
        row = (self.first_scratch_row + i) * (rows + (2 * ALIGNED_FLOATS + DECODE_KEY_BLOCK))
        return self.gep(self.scratch, row + offsets[area])

    def loop_blocks(self, count: LLVMValue, step: int, body: Callable[[LLVMValue], None], name: str) -> None:
        """The body for the start of each block of `step` in 0..count; the last block may be partial."""
        self.loop_call(self.i64(0), count + (step - 1), step, body, name)

    # --- scores = q * k' ---------------------------------------------------------------------

    def emit_scores(self, key: LLVMValue, count: LLVMValue) -> None:
        """A row of scores of `count` keys for each query; lanes past the last key repeat its score."""
        height = self.lanes // self.pair

        def emit_keys(i: LLVMValue) -> None:
            self.streams["k"].seek(key + i)

            def emit_head() -> None:
                keys = [self.row_pointer("k", key + self.min(i + r, count - 1)) for r in range(height)]
                self.for_query_pairs(
                    height, lambda query, lines: self.emit_dot_products(query, keys, i, lines)
                )

            self.for_heads(emit_head)

        self.loop_blocks(count, height, emit_keys, "keys")

    @property
    def pair(self) -> int:
        return min(QUERY_PAIR, self.lanes)

    def for_query_pairs(self, height: int, body: Callable[[LLVMValue, int], None]) -> None:
        """The body for the first query of each pair, and the cache lines that it prefetches per step along D.

        The pairs of a head share the prefetches for the next keys: with more pairs, each of them issues fewer.
        """
        is_one_pair, is_at_most_two = self.query_count <= self.pair, self.query_count <= 2 * self.pair

        def emit_pairs(lines: int) -> None:
            self.loop_blocks(self.query_count, self.pair, lambda query: body(query, lines), "pair")

        self.if_then_call(is_one_pair, lambda: emit_pairs(height))
        self.if_then_call(is_one_pair.eq(0) & is_at_most_two, lambda: emit_pairs(max(height // 2, 1)))
        self.if_then_call(is_at_most_two.eq(0), lambda: emit_pairs(max(height // 4, 1)))

    def emit_dot_products(self, query: LLVMValue, keys: Sequence[str], column: LLVMValue, lines: int) -> None:
        """The dot products of a pair of queries with some keys, together as many as there are lanes."""
        queries = [self.scratch_row("q", query + j) for j in range(self.pair)]
        sums = [self.new_slot("dot", self.vector_type) for _ in range(self.lanes)]
        for slot in sums:
            self.store(slot, self.zeros)

        def accumulate(d: LLVMValue, mask: LLVMValue | None) -> None:
            self.streams["k"].prefetch(lines)
            rows = [self.load_vector(self.gep(key, d), mask) for key in keys]
            for j, elements in enumerate(queries):
                factor = self.load_vector(self.gep(elements, d))
                for slot, row in zip(sums[j * len(keys) :], rows, strict=False):
                    self.store(slot, self.fma(factor, row, self.load(slot)))

        self.loop_vectors(self.sizes["depth"], accumulate)
        products = self.sum_each([self.load(slot) for slot in sums])
        for j in range(self.pair):
            scores = products if self.pair == 1 else self.extract_lanes(products, j, len(keys))
            self.store(StackSlot(self.gep(self.scratch_row("p", query + j), column), scores.type), scores)

    def extract_lanes(self, vector: LLVMValue, index: int, lanes: int) -> LLVMValue:
        """Subvector `index` of a vector that is cut into subvectors of `lanes` lanes."""
        numbers = [index * lanes + lane for lane in range(lanes)]
        if lanes == 1:
            return self.emit(LLVMType("float"), f"extractelement {vector}, i32 {numbers[0]}")
        return self.shuffle(vector, vector, numbers)

    # --- outputs += weights * v --------------------------------------------------------------

    def accumulate_values(self, key: LLVMValue, count: LLVMValue) -> None:
        """Adds `count` rows of values, times the weights that their scores have become, to the outputs."""

        def emit_rows(i: LLVMValue) -> None:
            self.streams["v"].seek(key + i)
            end = self.min(i + VALUE_ROWS, count)

            def emit_head() -> None:
                self.for_query_tiles(
                    lambda query, height: self.for_column_tiles(
                        lambda d, vectors, mask: self.accumulate_tile(
                            query, height, key, (i, end), d, vectors, mask
                        )
                    )
                )

            self.for_heads(emit_head)

        self.loop_blocks(count, VALUE_ROWS, emit_rows, "values")

    def for_query_tiles(self, body: Callable[[LLVMValue, int], None]) -> None:
        """The body for the first query of each tile, and its height."""
        high, low = TILE_QUERIES
        reached = self.loop_call(self.i64(0), self.query_count, high, lambda q: body(q, high), "high")
        self.loop_call(reached, self.query_count + (low - 1), low, lambda q: body(q, low), "low")

    def for_column_tiles(self, body: Callable[[LLVMValue, int, LLVMValue | None], None]) -> None:
        """The body for the first column of each tile, its number of vectors, and the mask of a partial last one."""
        width = self.sizes["width"]
        reached = self.loop_call(
            self.i64(0), width, TILE_VECTORS * self.lanes, lambda d: body(d, TILE_VECTORS, None), "d"
        )
        self.loop_masked_vectors(width - reached, lambda d, mask: body(reached + d, 1, mask))

    def accumulate_tile(
        self,
        query: LLVMValue,
        height: int,
        key: LLVMValue,
        rows: tuple[LLVMValue, LLVMValue],
        d: LLVMValue,
        vectors: int,
        mask: LLVMValue | None,
    ) -> None:
        """Adds values to a tile of outputs, `height` queries by `vectors` vectors; rows: begin and end, relative to `key`."""
        columns = [d + v * self.lanes for v in range(vectors)]
        addresses = [self.gep(self.scratch_row("o", query + j), c) for j in range(height) for c in columns]
        sums = [self.new_slot("sum", self.vector_type) for _ in addresses]
        for slot, address in zip(sums, addresses, strict=True):
            self.store(slot, self.load_vector(address))
        weights = [self.scratch_row("p", query + j) for j in range(height)]
        floats = vectors * self.lanes
        # Only the tiles of the first queries advance the prefetch stream.
        step = self.select(query.eq(0), self.i64(floats), self.i64(0))

        def accumulate(i: LLVMValue) -> None:
            self.streams["v"].prefetch(max(floats // CACHE_LINE_FLOATS, 1), step)
            row = self.row_pointer("v", key + i)
            values = [self.load_vector(self.gep(row, column), mask) for column in columns]
            for j, query_weights in enumerate(weights):
                weight = self.load_splat(self.gep(query_weights, i))
                for slot, value in zip(sums[j * vectors :], values, strict=False):
                    self.store(slot, self.fma(weight, value, self.load(slot)))

        self.loop_call(*rows, 1, accumulate, "value")
        for slot, address in zip(sums, addresses, strict=True):
            self.store_vector(self.load(slot), address)
