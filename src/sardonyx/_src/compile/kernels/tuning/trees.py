"""Tuning of decision trees; `tables.py` says what the kinds of values are."""

from __future__ import annotations

from typing import ClassVar

from sardonyx._src.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TreeTuning:
    """Decision trees.

    Trees are either walked from the root to a leaf, or evaluated by bit vectors, in which each split clears the bits of the
    leaves that it excludes.
    """

    # The rows of a block that are evaluated together by bit vectors, as a number of vectors of float32; 0: never.
    vectors: int = 2
    # Splits that are evaluated by bit vectors in the time of one step of a walk, for each row of a block.
    splits_per_step: float = 14.0
    # The cost of a word of a bit vector, as a number of splits, in addition to its own splits.
    word_splits: int = 6

    # --- Shared ---

    # Trees that a row walks through at a time.
    chains: ClassVar[int] = 8
    # Steps between tests for the ends of walks.
    unroll: ClassVar[int] = 2
    # Splits in an iteration over a word.
    unroll_splits: ClassVar[int] = 4
    # Splits in an iteration over a word if all trees are oblivious.
    oblivious_unroll: ClassVar[int] = 2
    # The maximum factor by which lists of splits become longer when they are padded to one length.
    max_padding: ClassVar[float] = 1.15
    # A block with at most this many rows is walked, even if bit vectors are faster for a full block.
    max_walked_rows: ClassVar[int] = 2
    # Rows of a block that is walked, which share the trees in the cache.
    block_rows: ClassVar[int] = 32
    # A step of a walk counts as this many operations.
    step_flops: ClassVar[int] = 8
