"""Speculative decoding of the rows of a batch: each has drafts of its own, and keeps as many tokens of them as it chooses itself.

Rows go on with different lengths where the decoder counts the tokens of each row.  Elsewhere all keep as many tokens as the row
that keeps the fewest, so that padding stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sardonyx._src.generate.batching.batched_request import BatchedRow
from sardonyx._src.generate.drafts.draft import Draft, DraftStats
from sardonyx._src.ir import Array

# A product of up to 8 rows by 4-bit weights takes at most twice as long as one of a single row.  With 16, even drafts of which
# two thirds are right gained less.
MAX_RUN_TOKENS = 8


class RowDrafts:
    """Proposes tokens for rows.

    draft: what proposes them, of any sequence; None for no drafts.
    length: the tokens of a draft at most.
    stats: counts them.
    """

    def __init__(self, draft: Draft | None = None, length: int = 0, stats: DraftStats | None = None) -> None:
        self.draft, self.length, self.stats = draft, length, stats or DraftStats()

    def propose(self, rows: Sequence[BatchedRow]) -> list[Array]:
        """The drafts of rows that are read together, as long as more than half of the rows have them: all take the time of the
        longest.  None goes beyond the room of any row, which is that of the caches."""
        none = np.zeros(0, np.int64)
        left = min(row.left for row in rows) - 1
        most = min(left, MAX_RUN_TOKENS // len(rows) - 1, self.length)
        if self.draft is None or most < 1:
            return [none] * len(rows)
        drafts = [row.propose(self.draft, most) for row in rows]
        width = sorted(map(len, drafts), reverse=True)[len(rows) // 2]
        drafts = [drafted[:width] for drafted in drafts]
        self.stats.drafted += sum(map(len, drafts))
        return drafts

    def choose(
        self,
        rows: Sequence[BatchedRow],
        drafts: Sequence[Array],
        logits: Array,
        choose: Callable[[BatchedRow, Array], bool],
        *,
        is_ragged: bool,
    ) -> tuple[list[BatchedRow], Array, int]:
        """The rows that go on, how many tokens of its block each row keeps, [rows], and how many were chosen.

        logits: [rows, length, vocabulary], of blocks that begin with the latest token of each row.
        choose: chooses the next token of a row by its logits; returns whether the row goes on.
        is_ragged: whether rows may keep different numbers of tokens.
        """
        going_on, kept, count = list(rows), np.zeros(len(rows), np.int64), 0
        reading = list(range(len(rows)))
        for place in range(logits.shape[1]):
            agreeing = []
            for number in reading:
                row, drafted = rows[number], drafts[number]
                kept[number], count = place + 1, count + 1
                if not choose(row, logits[number, place]):
                    going_on.remove(row)
                elif place < len(drafted) and row.token == drafted[place]:
                    self.stats.accepted += 1
                    agreeing.append(number)
            is_unequal = any(rows[number] in going_on for number in reading if number not in agreeing)
            if not agreeing or (is_unequal and not is_ragged):
                break
            reading = agreeing
        if not is_ragged:
            kept[:] = kept.max()
        for row, drafted, length in zip(rows, drafts, kept, strict=True):
            row.adapt_draft(len(drafted), min(int(length) - 1, len(drafted)), self.length)
        return going_on, kept, count


def blocks_of(rows: Sequence[BatchedRow], drafts: Sequence[Array]) -> Array:
    """The tokens to read, [rows, length]: the latest one of each row and its draft, which its latest token fills up."""
    width = 1 + max(map(len, drafts))
    blocks = np.repeat(np.array([[row.token] for row in rows], np.int64), width, axis=1)
    for block, drafted in zip(blocks, drafts, strict=True):
        block[1 : 1 + len(drafted)] = drafted
    return blocks
