"""The two matrix products of the decode attention kernel: scores = q * k' and outputs += scores * v.

Queries, scores and outputs are rows in scratch.  Keys and values are read from memory once, in address order and with
software prefetch: if rows of several heads are adjacent in memory, a row of every head is read before the next row.
Loop nests:

    scores: groups of keys -> heads -> pairs of queries -> vectors along D
    outputs: blocks of `value_rows` values -> heads -> register tiles [queries, vectors along E] -> values
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sardonyx._src.compile.codegen import LLVMType, LLVMValue, MemoryLocation
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.kernels.attention.decode_unit import (
    QUERY_PAIR,
    DecodeHead,
    DecodeUnit,
    loop_heads,
    scratch_row,
)
from sardonyx._src.compile.kernels.attention.heads import row_pointer
from sardonyx._src.compile.kernels.attention.parameters import AttentionKernel
from sardonyx._src.compile.kernels.gemm.tile.prefetch import CACHE_LINE_FLOATS
from sardonyx._src.compile.kernels.loops.lanes import shuffle, sum_each
from sardonyx._src.compile.kernels.loops.vectors import (
    i64,
    load_splat,
    load_vector,
    loop_blocks,
    loop_masked_vectors,
    loop_vectors,
    store_vector,
    vector_type,
    zeros,
)
from sardonyx._src.compile.kernels.tuning import tuning_for
from sardonyx._src.dataclass import dataclass

# --- scores = q * k' -------------------------------------------------------------------------


def emit_scores(kernel: AttentionKernel, unit: DecodeUnit, key: LLVMValue, count: LLVMValue) -> None:
    """A row of scores of `count` keys for each query; lanes past the last key repeat its score."""
    b = kernel.b
    height = b.target.lanes // query_pair(b)
    with loop_blocks(b, count, height, "keys") as i:
        unit.key_stream.seek(key + i)
        with loop_heads(kernel, unit) as head:
            keys = [
                row_pointer(kernel, head.operands, "k", key + b.min(i + r, count - 1)) for r in range(height)
            ]
            for query, lines in loop_query_pairs(b, unit.query_count, height):
                emit_dot_products(kernel, head, query, keys, i, lines)


def query_pair(b: KernelBuilder) -> int:
    return min(QUERY_PAIR, b.target.lanes)


def loop_query_pairs(b: KernelBuilder, count: LLVMValue, height: int) -> Iterator[tuple[LLVMValue, int]]:
    """A loop over the pairs of `count` queries: the first query of each, and the cache lines to prefetch per step along D.

    The pairs of a head share the prefetches of the next keys: the more pairs, the fewer prefetches each of them issues.
    """
    pair = query_pair(b)
    is_one_pair, is_at_most_two = count <= pair, count <= 2 * pair
    with b.if_then(is_one_pair), loop_blocks(b, count, pair, "pair") as query:
        yield query, height
    with b.if_then(is_one_pair.eq(0) & is_at_most_two), loop_blocks(b, count, pair, "pair") as query:
        yield query, max(height // 2, 1)
    with b.if_then(is_at_most_two.eq(0)), loop_blocks(b, count, pair, "pair") as query:
        yield query, max(height // 4, 1)


def emit_dot_products(
    kernel: AttentionKernel,
    head: DecodeHead,
    query: LLVMValue,
    keys: Sequence[str],
    column: LLVMValue,
    lines: int,
) -> None:
    """The dot products of a pair of queries with some keys, one product in each lane; column: the index of the first key."""
    b, pair = kernel.b, query_pair(kernel.b)
    queries = [scratch_row(kernel, head, "q", query + j) for j in range(pair)]
    sums = [b.new_slot("dot", vector_type(b)) for _ in range(b.target.lanes)]
    for slot in sums:
        b.store(slot, zeros(b))
    for d, mask in loop_vectors(b, 0, kernel.sizes["depth"]):
        head.unit.key_stream.prefetch(lines)
        rows = [load_vector(b, b.gep(key, d), mask) for key in keys]
        for j, elements in enumerate(queries):
            factor = load_vector(b, b.gep(elements, d))
            for slot, row in zip(sums[j * len(keys) :], rows, strict=False):
                b.store(slot, b.fma(factor, row, b.load(slot)))
    products = sum_each(b, [b.load(slot) for slot in sums])
    for j in range(pair):
        scores = products if pair == 1 else extract_lanes(b, products, j, len(keys))
        address = b.gep(scratch_row(kernel, head, "p", query + j), column)
        b.store(MemoryLocation(address, scores.type), scores)


def extract_lanes(b: KernelBuilder, vector: LLVMValue, index: int, lanes: int) -> LLVMValue:
    """Subvector `index` of a vector that is divided into subvectors of `lanes` lanes."""
    if lanes == 1:
        return b.emit(LLVMType("float"), f"extractelement {vector}, i32 {index}")
    return shuffle(b, vector, vector, [index * lanes + lane for lane in range(lanes)])


# --- outputs += weights * v ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OutputTile:
    """A register tile of outputs: `height` queries by `vectors` vectors; mask: the lanes of a partial vector, else None."""

    query: LLVMValue
    height: int
    column: LLVMValue
    vectors: int
    mask: LLVMValue | None


def accumulate_values(kernel: AttentionKernel, unit: DecodeUnit, key: LLVMValue, count: LLVMValue) -> None:
    """Adds `count` rows of values to the outputs, each multiplied by its weight, which has replaced the score."""
    b, rows = kernel.b, tuning_for(kernel.b.target).attention.value_rows
    with loop_blocks(b, count, rows, "values") as i:
        unit.value_stream.seek(key + i)
        end = b.min(i + rows, count)
        with loop_heads(kernel, unit) as head:
            for tile in loop_output_tiles(b, unit.query_count, kernel.sizes["width"]):
                accumulate_tile(kernel, head, tile, key, (i, end))


def loop_output_tiles(b: KernelBuilder, query_count: LLVMValue, width: LLVMValue) -> Iterator[OutputTile]:
    """A loop over the register tiles of the outputs of a head: tiles of queries, then columns."""
    vectors = tuning_for(b.target).attention.decode_tile_vectors
    for query, height in loop_query_tiles(b, query_count):
        with b.loop(i64(b, 0), width, vectors * b.target.lanes, "d") as column:
            yield OutputTile(query, height, column, vectors, None)
        for d, mask in loop_masked_vectors(b, width - column):
            yield OutputTile(query, height, column + d, 1, mask)


def loop_query_tiles(b: KernelBuilder, count: LLVMValue) -> Iterator[tuple[LLVMValue, int]]:
    """A loop over the tiles of `count` queries: the first query of each, and its height; the last tile may be partial."""
    high, low = tuning_for(b.target).attention.decode_tile_queries, QUERY_PAIR
    with b.loop(i64(b, 0), count, high, "high") as query:
        yield query, high
    with b.loop(query, count + (low - 1), low, "low") as query:
        yield query, low


def accumulate_tile(
    kernel: AttentionKernel,
    head: DecodeHead,
    tile: OutputTile,
    key: LLVMValue,
    rows: tuple[LLVMValue, LLVMValue],
) -> None:
    """Adds values to a tile of outputs; rows: begin and end, relative to `key`."""
    b, heights = kernel.b, range(tile.height)
    columns = [tile.column + v * b.target.lanes for v in range(tile.vectors)]
    addresses = [
        b.gep(scratch_row(kernel, head, "o", tile.query + j), column) for j in heights for column in columns
    ]
    sums = [b.new_slot("sum", vector_type(b)) for _ in addresses]
    for slot, address in zip(sums, addresses, strict=True):
        b.store(slot, load_vector(b, address))
    weights = [scratch_row(kernel, head, "p", tile.query + j) for j in heights]
    floats = tile.vectors * b.target.lanes
    # Only the tiles of the first queries advance the prefetch stream.
    step = b.select(tile.query.eq(0), floats, i64(b, 0))
    with b.loop(*rows, name="value") as i:
        head.unit.value_stream.prefetch(max(floats // CACHE_LINE_FLOATS, 1), step)
        row = row_pointer(kernel, head.operands, "v", key + i)
        values = [load_vector(b, b.gep(row, column), tile.mask) for column in columns]
        for j, query_weights in enumerate(weights):
            weight = load_splat(b, b.gep(query_weights, i))
            for slot, value in zip(sums[j * tile.vectors :], values, strict=False):
                b.store(slot, b.fma(weight, value, b.load(slot)))
    for slot, address in zip(sums, addresses, strict=True):
        store_vector(b, b.load(slot), address)
