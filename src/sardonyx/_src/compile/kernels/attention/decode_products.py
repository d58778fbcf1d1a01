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
from sardonyx._src.compile.kernels.loops.rows import summed_vector_type
from sardonyx._src.compile.kernels.loops.vectors import (
    first_lanes,
    i64,
    load_splat,
    load_typed,
    load_vector,
    loop_blocks,
    loop_masked_vectors,
    loop_vectors,
    store_vector,
    vector_type,
)
from sardonyx._src.compile.kernels.tuning import tuning_for
from sardonyx._src.dataclass import dataclass

# --- scores = q * k' -------------------------------------------------------------------------


def emit_scores(kernel: AttentionKernel, unit: DecodeUnit, key: LLVMValue, count: LLVMValue) -> None:
    """A row of scores of `count` keys for each query; lanes past the last key repeat its score."""
    b = kernel.b
    height = tile_products(b) // query_pair(b)
    with loop_blocks(b, count, height, "keys") as i:
        unit.key_stream.seek(key + i)
        with loop_heads(kernel, unit) as head:
            keys = [
                row_pointer(kernel, head.operands, "k", key + b.min(i + r, count - 1)) for r in range(height)
            ]
            for query, lines in loop_query_pairs(b, unit.query_count, height):
                emit_dot_products(kernel, head, query, keys, i, lines)


def part_type(b: KernelBuilder) -> LLVMType:
    """The partial sums of a dot product that a pass over D adds."""
    summed = summed_vector_type(b.target)
    return LLVMType("float", max(summed.lanes // tuning_for(b.target).attention.dot_passes, 1))


def tile_products(b: KernelBuilder) -> int:
    """The number of dot products at a time: their partial sums take half of the registers in a pass."""
    lanes = part_type(b).lanes
    return min(b.target.registers // 2 // (lanes // b.target.lanes), lanes)


def query_pair(b: KernelBuilder) -> int:
    return min(QUERY_PAIR, tile_products(b))


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
    """The dot products of a pair of queries with some keys, one product in each lane; column: the index of the first key.

    Each has the partial sums of `summed_vector_type`, of which a pass over D adds as many as the registers hold.
    """
    b, pair = kernel.b, query_pair(kernel.b)
    queries = [scratch_row(kernel, head, "q", query + j) for j in range(pair)]
    lanes, part_lanes = summed_vector_type(b.target).lanes, part_type(b).lanes
    products = [
        sum_part(kernel, head, (queries, keys), first, lines if first == 0 else 0)
        for first in range(0, lanes, part_lanes)
    ]
    while len(products) > 1:
        products = [low + high for low, high in zip(products[::2], products[1::2], strict=True)]
    for j in range(pair):
        scores = products[0] if pair == 1 else extract_lanes(b, products[0], j, len(keys))
        address = b.gep(scratch_row(kernel, head, "p", query + j), column)
        b.store(MemoryLocation(address, scores.type), scores)


def sum_part(
    kernel: AttentionKernel,
    head: DecodeHead,
    factors: tuple[Sequence[str], Sequence[str]],
    first: int,
    lines: int,
) -> LLVMValue:
    """The sums of some lanes of the products of queries with keys, from lane `first` of the partial sums on.

    lines: the cache lines to prefetch per step along D.
    """
    b, (queries, keys), part = kernel.b, factors, part_type(kernel.b)
    sums = [b.new_slot("dot", part) for _ in range(len(queries) * len(keys))]
    for slot in sums:
        b.store(slot, b.constant(0.0, part))
    depth = kernel.sizes["depth"]
    for i, partial in loop_vectors(b, 0, depth, summed_vector_type(b.target).lanes):
        d = i + first if first else i
        mask = None if partial is None else first_lanes(b, depth - d, part.lanes)
        if lines:
            head.unit.key_stream.prefetch(lines)
        rows = [load_typed(b, part, b.gep(key, d), mask) for key in keys]
        for j, elements in enumerate(queries):
            factor = b.load(MemoryLocation(b.gep(elements, d), part))
            for slot, row in zip(sums[j * len(keys) :], rows, strict=False):
                b.store(slot, b.fma(factor, row, b.load(slot)))
    return sum_each(b, [b.load(slot) for slot in sums])


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
