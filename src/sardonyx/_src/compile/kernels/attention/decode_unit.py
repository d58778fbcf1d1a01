"""A unit of work of the decode kernel: its heads of keys and values, their queries, and the rows of the queries in scratch.

Queries of a head of keys and values are numbered query head first: number i is query `i % queries` of query head
`i / queries`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeAlias

from sardonyx._src.compile.codegen import LLVMValue
from sardonyx._src.compile.kernels.attention.heads import AttentionHead
from sardonyx._src.compile.kernels.attention.parameters import ALIGNED_FLOATS, AttentionKernel, aligned_size
from sardonyx._src.compile.kernels.attention.prefetch import PrefetchStream
from sardonyx._src.compile.kernels.loops.vectors import i64, loop_blocks, urem
from sardonyx._src.compile.kernels.tuning import AttentionTuning
from sardonyx._src.dataclass import dataclass

QUERY_PAIR = 2  # the dot products of two queries with a key are computed together


# The indices of a unit: batch, first head of keys and values, first query head of each group, split.
UnitIndices: TypeAlias = tuple[LLVMValue, LLVMValue, LLVMValue, LLVMValue]


@dataclass(frozen=True, slots=True)
class DecodeUnit:
    """Adjacent heads of keys and values, the queries that share each of them, and a range of the keys.

    indices: the indices of the unit.
    first_head: the first head of keys and values.
    kv_heads: the number of heads of keys and values.
    query_count: the number of queries of one head of keys and values.
    padded_query_count: `query_count` rounded up to whole pairs of queries.
    """

    indices: UnitIndices
    first_head: AttentionHead
    kv_heads: LLVMValue
    query_count: LLVMValue
    padded_query_count: LLVMValue
    key_stream: PrefetchStream
    value_stream: PrefetchStream


@dataclass(frozen=True, slots=True)
class DecodeHead:
    """A head of keys and values of a unit.

    index: the number of the head in the unit.
    operands: the addresses of the head, and of the first query head that shares it.
    first_scratch_row: the row in scratch of the head's first query.
    """

    unit: DecodeUnit
    index: LLVMValue
    operands: AttentionHead
    first_scratch_row: LLVMValue


def make_decode_unit(kernel: AttentionKernel, head: AttentionHead, indices: UnitIndices) -> DecodeUnit:
    b, size = kernel.b, kernel.sizes
    _, kv_head, q_head, _ = indices
    kv_heads = b.min(size["kv_heads"] - kv_head, size["unit_kv_heads"])
    query_count = size["queries"] * b.min(size["group_size"] - q_head, size["unit_q_heads"])
    padded_query_count = query_count + (QUERY_PAIR - 1) & -QUERY_PAIR
    k_stream = PrefetchStream(b, head.pointers["k"], kv_heads * size["depth"], size["k_row"])
    v_stream = PrefetchStream(b, head.pointers["v"], kv_heads * size["width"], size["v_row"])
    return DecodeUnit(indices, head, kv_heads, query_count, padded_query_count, k_stream, v_stream)


@contextmanager
def loop_heads(kernel: AttentionKernel, unit: DecodeUnit) -> Iterator[DecodeHead]:
    """A loop over the heads of keys and values of a unit."""
    b, size = kernel.b, kernel.sizes
    with b.loop(i64(b, 0), unit.kv_heads, name="head") as i:
        first_scratch_row, pointers = i * unit.padded_query_count, {}
        for name, pointer in unit.first_head.pointers.items():
            step = i if name in ("k", "v") else i * size["group_size"]
            pointers[name] = b.gep(pointer, step * size[f"{name}_head"], kernel.variant.element(name))
        yield DecodeHead(unit, i, replace(unit.first_head, pointers=pointers), first_scratch_row)


@contextmanager
def loop_queries(
    kernel: AttentionKernel, unit: DecodeUnit, count: LLVMValue
) -> Iterator[tuple[DecodeHead, LLVMValue]]:
    """A loop over the first `count` queries of each head of a unit: the head, and the number of the query."""
    with loop_heads(kernel, unit) as head, loop_blocks(kernel.b, count, 1, "query") as i:
        yield head, i


def scratch_row(kernel: AttentionKernel, head: DecodeHead, area: str, i: LLVMValue) -> str:
    """The address in scratch of an area of query number i of a head.

    Each query has a row with the areas "q", its elements [D]; "o", its output [E]; "max" and "sum", vectors of its running
    maximum and sum; and "p", its scores [`decode_key_block`].
    """
    depth, width = aligned_size(kernel, "depth"), aligned_size(kernel, "width")
    length = depth + width
    offsets = {
        "q": i64(kernel.b, 0),
        "o": depth,
        "max": length,
        "sum": length + ALIGNED_FLOATS,
        "p": length + 2 * ALIGNED_FLOATS,
    }
    row = (head.first_scratch_row + i) * (length + (2 * ALIGNED_FLOATS + AttentionTuning.decode_key_block))
    return kernel.b.gep(kernel.b.scratch, row + offsets[area])


def query_row(kernel: AttentionKernel, head: DecodeHead, name: str, i: LLVMValue) -> str:
    """The address of the row of query number i in q, y or the mask."""
    q_head, query = kernel.b.udivmod(i, kernel.sizes["queries"])
    offset = q_head * kernel.sizes[f"{name}_head"] + query * kernel.sizes[f"{name}_row"]
    return kernel.b.gep(head.operands.pointers[name], offset, kernel.variant.element(name))


def mask_row(kernel: AttentionKernel, head: DecodeHead, i: LLVMValue) -> str:
    """The address of the mask row of query number i; "" without a mask."""
    return query_row(kernel, head, "mask", i) if kernel.variant.mask_type else ""


def query_position(kernel: AttentionKernel, i: LLVMValue) -> LLVMValue:
    """The index of query number i in its query head."""
    return urem(kernel.b, i, kernel.sizes["queries"])
