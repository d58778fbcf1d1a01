"""The rows of a batch: those that a decoder can read together form a group, which it reads in one run."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.generate.batching.batched_request import BatchedRequest, BatchedRow
from sardonyx._src.generate.batching.drafted_rows import RowDrafts, blocks_of
from sardonyx._src.generate.decoder.alignment import find_alignment
from sardonyx._src.generate.decoder.decoder import TokenDecoder
from sardonyx._src.generate.decoder.padded_rows import PaddedRows, pad_states, read_rows
from sardonyx._src.generate.decoder.state import DecoderState
from sardonyx._src.generate.loop.request import repeated
from sardonyx._src.ir import Array


@dataclass(slots=True)
class BatchGroup:
    """Rows that are read together, and their caches, in the same order."""

    rows: list[BatchedRow]
    state: PaddedRows


class BatchGroups:
    """The rows of a batch.

    fail: is called with a request that cannot go on, and the error.
    drafts: proposes tokens, of which a run reads several for each row.
    Decoders that read rows of any lengths have one group; others have one for each length.
    """

    def __init__(
        self,
        decoder: TokenDecoder,
        fail: Callable[[BatchedRequest, Exception], None],
        drafts: RowDrafts,
    ) -> None:
        self.decoder, self.fail, self.drafts = decoder, fail, drafts
        self.failed: set[BatchedRequest] = set()  # in the step that goes on
        self.alignment = find_alignment(decoder)
        self.groups: list[BatchGroup] = []

    @property
    def is_padded(self) -> bool:
        """Whether rows of different lengths are read together."""
        return self.alignment is not None

    @property
    def rows(self) -> int:
        return sum(len(group.rows) for group in self.groups)

    @property
    def cache_bytes(self) -> int:
        return sum(group.state.bytes for group in self.groups)

    def join(self, request: BatchedRequest, state: DecoderState, logits: Array) -> None:
        """Adds the rows of a request, of which one state has been read, after the first token of each."""
        rows = [row for row in request.rows if self.choose(row, logits)]
        if not rows or request in self.failed:
            self.failed.clear()
            return
        pairs, alignment = self.decoder.roles.caches, self.alignment or "start"
        new = repeated(state, len(rows))
        if self.decoder.fixed_rows == 1:
            self.groups += [
                BatchGroup([row], pad_states([new.select(np.array([number]))], pairs, alignment))
                for number, row in enumerate(rows)
            ]
            return
        group = next((group for group in self.groups if self.fits(group, state)), None)
        if group is None:
            self.groups.append(BatchGroup(rows, pad_states([new], pairs, alignment)))
        else:
            group.state = pad_states([group.state, new], pairs, alignment)
            group.rows += rows

    def fits(self, group: BatchGroup, state: DecoderState) -> bool:
        """Whether a row of this state can be read together with those of a group."""
        if group.state.context or state.context:
            return False
        return self.is_padded or self.decoder.window is not None or len(group.state.tokens[0]) == state.length

    def step(self) -> int:
        """Generates one token of each row, or several where drafts are right; returns how many."""
        count = 0
        for group in list(self.groups):
            drafts = self.drafts.propose(group.rows)
            before = group.state.lengths
            try:
                logits, group.state = read_rows(self.decoder, group.state, blocks_of(group.rows, drafts))
            except Exception as error:  # noqa: BLE001  # each request of the group raises it
                for request in dict.fromkeys(row.owner for row in group.rows):
                    self.fail(request, error)
                self.groups.remove(group)
                continue
            is_ragged = self.alignment == "start"
            going_on, kept, chosen = self.drafts.choose(
                group.rows, drafts, logits, self.choose, is_ragged=is_ragged
            )
            count += chosen
            group.state = group.state.cut(before + kept)
            self.keep(group, [row for row in going_on if row.owner not in self.failed])
            self.failed.clear()
        return count

    def choose(self, row: BatchedRow, logits: Array) -> bool:
        """Chooses the next token of a row by logits [vocabulary]; whether the row goes on."""
        try:
            return row.choose(logits)
        except Exception as error:  # noqa: BLE001  # the request raises it, and the others go on
            self.failed.add(row.owner)
            self.fail(row.owner, error)
            return False

    def keep_rows_of(self, requests: Container[BatchedRequest]) -> None:
        """Removes the rows of all other requests."""
        for group in list(self.groups):
            self.keep(group, [row for row in group.rows if row.owner in requests])

    def keep(self, group: BatchGroup, rows: Sequence[BatchedRow]) -> None:
        """Keeps only some rows of a group; states of results that have ended are kept for later prompts."""
        if len(rows) == len(group.rows):
            return
        for number, row in enumerate(group.rows):
            prefixes = row.owner.request.prefixes
            if prefixes is not None and row.continuation.reason is not None and len(row.owner.rows) == 1:
                prefixes.keep(group.state.row(number))
        if not rows:
            self.groups.remove(group)
            return
        numbers = [number for number, row in enumerate(group.rows) if row in rows]
        group.state, group.rows = group.state.select(numbers), list(rows)
