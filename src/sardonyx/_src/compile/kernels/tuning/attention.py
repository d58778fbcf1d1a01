"""Tuning of attention; `tables.py` says what the kinds of values are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class AttentionTuning:
    """Attention: prefill (many queries) and decode (few queries, many keys)."""

    # Rows of a register tile of prefill, by the vectors of a row; the widest first.
    tile_rows: Mapping[int, int]
    # Rows of the tiles that follow the last full tile, descending to 1.
    remainder_tile_rows: tuple[int, ...] = (4, 2, 1)
    # Queries of a register tile of decode's outputs.
    decode_tile_queries: int = 4
    # Vectors of a register tile of decode's outputs.
    decode_tile_vectors: int = 4
    # Passes over the elements of decode's queries and keys, each of which adds a part of the partial sums.
    dot_passes: int = 1
    # Rows of values that stay in L1, even if they are a page apart, until all queries have used them.
    value_rows: int = 8
    # The distance in floats from the row of keys or values in use to the row that is prefetched.
    prefetch_floats: int = 2304
    # The least such distance in rows: the number of rows that are in use.
    min_prefetch_rows: int = 8

    # --- Rounding ---

    # The number of keys that have their scores in scratch at a time in prefill, where they stay in L1 and L2 with the
    # keys and values.
    key_block: ClassVar[int] = 128
    # The number of keys that have their scores in scratch at a time in decode.
    decode_key_block: ClassVar[int] = 256
    # Accumulators of a prefill maximum or sum over keys, which hide its latency; a power of two.
    fold_chains: ClassVar[int] = 4
    # Keys of a decode unit when the keys are split (split-KV).
    split_keys: ClassVar[int] = 512
    # Decode is faster than prefill for at most this many queries of a head.
    max_decode_queries: ClassVar[int] = 8

    # --- Shared ---

    # The maximum number of queries of a head in a prefill unit.
    query_block: ClassVar[int] = 64
    # The maximum number of queries of a decode unit that share a head of keys.
    decode_unit_queries: ClassVar[int] = 16
    # This many contiguous floats are read at full memory bandwidth; a decode unit has enough adjacent heads.
    min_run_floats: ClassVar[int] = 1024
    # The maximum number of heads of keys in a decode unit.
    max_unit_kv_heads: ClassVar[int] = 16
    # Vectors of columns of a state of linear attention that are updated at a time: they hide latencies.
    state_vectors: ClassVar[int] = 4
    # With at least this many tokens, these columns are copied to scratch, where their rows are adjacent.
    min_state_tokens: ClassVar[int] = 8
