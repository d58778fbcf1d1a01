"""Tuning of LSTM, GRU and RNN; `tables.py` says what the kinds of values are."""

from __future__ import annotations

from typing import ClassVar

from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class RecurrenceTuning:
    """LSTM, GRU and RNN."""

    # Vectors of hidden units whose LSTM cells are interleaved, as one vector that LLVM splits.
    joined_lstm_vectors: int = 1

    # --- Shared ---

    # The least number of sequences of the batch in a unit of work.
    unit_sequences: ClassVar[int] = 4
    # The maximum number of units of a direction; larger batches have more sequences in a unit.
    max_units: ClassVar[int] = 8
    # The numbers of sequences that share each load of the weights.
    tile_rows: ClassVar[tuple[int, ...]] = (4, 2, 1)
    # The lanes of the widest target; weights are padded to a multiple of it.
    max_lanes: ClassVar[int] = 16
    # The rows of a unit of work of projections in float64.
    projected_rows: ClassVar[int] = 16
    # A recurrence of at least this many sequences projects its inputs itself.
    min_projected_batch: ClassVar[int] = 4
    # A recurrence projects its inputs itself only if a direction has at most this many weights.
    max_projected_weights: ClassVar[int] = 1 << 18
    # Vectors of hidden units in a unit of work of a time step that is divided among threads.
    group_blocks: ClassVar[int] = 4
    # Bytes of the weights of a direction that a core's cache holds; with more bytes, a time step is divided.
    cached_bytes: ClassVar[int] = 3 << 19
    # The limit in place of `cached_bytes` for a layer that would have a single unit of work.
    min_divided_bytes: ClassVar[int] = 1 << 19
