"""Work partitioning of attention: the choice of prefill or decode, and the number of heads and keys of a decode unit.

Prefill units are blocks of the queries of one head.  Decode units group queries that share keys, and heads with rows adjacent
in memory.  Long key sequences are split into ranges (split-KV), so that several threads work on one sequence.
"""

from __future__ import annotations

from dataclasses import fields

from sardonyx._src.compile.kernels.tuning import AttentionTuning
from sardonyx._src.compile.program import TensorView
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.dims import Known, ceil_div, dim_max, dim_min, exact_div


@dataclass(frozen=True, slots=True)
class AttentionPartition:
    """The division of heads and keys into units of work; each field is a parameter of the attention kernels."""

    kv_heads: Known
    group_size: Known
    is_decode: Known = 0
    unit_q_heads: Known = 1
    unit_kv_heads: Known = 1
    splits: Known = 1

    @property
    def head_units(self) -> Known:
        """The units of work of a batch and a block of queries."""
        units = ceil_div(self.kv_heads, self.unit_kv_heads) * ceil_div(self.group_size, self.unit_q_heads)
        return units * self.splits

    def to_arguments(self) -> dict[str, Known]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


def partition_heads(
    q: TensorView, k: TensorView, v: TensorView, *, has_dense_mask_rows: bool
) -> AttentionPartition:
    """The partition for q [B, H, S, D], k [B, G, T, D], v [B, G, T, E].

    Decode requires contiguous rows of keys, values and mask.  For dynamic shapes the choice is made at run time: `is_decode`
    is an expression with the value 0 or 1, and the other numbers are expressions of it.
    """
    heads, queries, kv_heads, keys = q.shape[1], q.shape[2], k.shape[1], k.shape[2]
    group_size: Known = 1 if kv_heads == heads or kv_heads == 0 else exact_div(heads, kv_heads)
    if not has_dense_mask_rows or k.strides[3] != 1 or v.strides[3] != 1:
        return AttentionPartition(kv_heads, group_size)
    max_q_heads = AttentionTuning.decode_unit_queries // dim_max(queries, 1)
    is_decode = dim_min(1, AttentionTuning.max_decode_queries // dim_max(queries, 1))
    return AttentionPartition(
        kv_heads,
        group_size,
        is_decode,
        one_unless(is_decode, dim_min(group_size, max_q_heads)),
        one_unless(is_decode, adjacent_kv_heads(k, v, kv_heads)),
        one_unless(is_decode, dim_max(ceil_div(keys, AttentionTuning.split_keys), 1)),
    )


def adjacent_kv_heads(k: TensorView, v: TensorView, kv_heads: Known) -> Known:
    """The number of heads of keys and values in a unit: several if rows of adjacent heads are contiguous in memory."""
    count = AttentionTuning.max_unit_kv_heads
    for tensor in (k, v):
        size = tensor.shape[3]
        if not isinstance(size, int) or tensor.strides[1] != size or tensor.strides[2] == size:
            return 1
        count = min(count, -(-AttentionTuning.min_run_floats // max(size, 1)))
    return dim_min(kv_heads, count) if kv_heads != 0 else 1


def one_unless(condition: Known, count: Known) -> Known:
    """`count` if the condition is 1, and 1 if the condition is 0; a count must be at least 1 if the condition is 1.

    The expression is a maximum with 1, so that it is known to be positive and quotients of it simplify.
    """
    return dim_max(condition * count, 1)
