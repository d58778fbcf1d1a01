"""Sequences of different lengths that a decoder reads together: their caches are padded to the longest one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.generate.decoder.cache_continuation import continue_caches
from sardonyx._src.generate.decoder.cache_memory import CacheClaim, first_entries
from sardonyx._src.generate.decoder.cache_pairs import CachePair
from sardonyx._src.generate.decoder.decoder import TokenDecoder
from sardonyx._src.generate.decoder.feeds import Alignment
from sardonyx._src.generate.decoder.state import DecoderState
from sardonyx._src.interp.run_control import CancellationToken
from sardonyx._src.ir import Array


@dataclass(frozen=True, slots=True)
class PaddedRows:
    """Tokens that a decoder has read, one sequence a row.

    tokens: of each row, [length] int64.
    caches: arrays by the names of the decoder's inputs; the first axis is that of the rows, and the one that grows has the
        places of the longest row.
    pairs: of the caches.
    alignment: where the tokens of shorter rows are.
    claim: of the memory in which a run may continue the caches; None for no such memory.
    context: what an encoder computed, and the caches of it, of rows of one prompt.
    """

    tokens: tuple[Array, ...]
    caches: Mapping[str, Array]
    pairs: tuple[CachePair, ...]
    alignment: Alignment
    claim: CacheClaim | None = None
    context: Mapping[str, Array] = field(default_factory=dict)

    @property
    def lengths(self) -> Array:
        """The tokens of each row, [rows]."""
        return np.array([len(row) for row in self.tokens])

    @property
    def bytes(self) -> int:
        """The bytes of the caches."""
        return sum(cache.nbytes for cache in self.caches.values())

    def row(self, number: int) -> DecoderState:
        """The state of one row, without padding, in memory of its own."""
        alone = self.select([number])
        caches = {name: np.array(cache, order="C") for name, cache in alone.caches.items()}
        return DecoderState(self.tokens[number][None], caches, context=alone.context)

    def select(self, numbers: Sequence[int]) -> PaddedRows:
        """The rows of these numbers, in this order, padded to the longest of them."""
        tokens = tuple(self.tokens[number] for number in numbers)
        size = max((len(row) for row in tokens), default=0)
        caches = {
            pair.past: resized(self.caches[pair.past][list(numbers)], pair.axis, size, self.alignment)
            for pair in self.pairs
        }
        context = {name: array[list(numbers)] for name, array in self.context.items()}
        return PaddedRows(tokens, caches, self.pairs, self.alignment, context=context)

    def cut(self, lengths: Array) -> PaddedRows:
        """The rows after their first tokens alone, [rows].  With the alignment "end", all rows lose as many of them."""
        if np.array_equal(lengths, self.lengths):
            return self
        size = int(lengths.max())
        memory = self.claim.memory if self.claim is not None else None
        views = memory.views(size) if memory is not None else {}
        caches = {
            pair.past: views[pair.past]
            if pair.past in views
            else np.ascontiguousarray(first_entries(self.caches[pair.past], pair.axis, size))
            for pair in self.pairs
        }
        tokens = tuple(row[:length] for row, length in zip(self.tokens, lengths, strict=True))
        claim = memory.claim(size) if memory is not None else None
        return PaddedRows(tokens, caches, self.pairs, self.alignment, claim, self.context)


def pad_states(
    states: Iterable[DecoderState | PaddedRows], pairs: tuple[CachePair, ...], alignment: Alignment
) -> PaddedRows:
    """The rows of several states, padded to the longest one.  A state with the context of an encoder must be the only one."""
    parts = list(states)
    assert len(parts) == 1 or not any(part.context for part in parts), "contexts have sizes of their own"
    tokens = tuple(row for part in parts for row in part.tokens)
    size = max(len(row) for row in tokens)
    caches = {}
    for pair in pairs:
        caches[pair.past] = np.concatenate(
            [resized(part.caches[pair.past], pair.axis, size, alignment) for part in parts]
        )
    return PaddedRows(tokens, caches, pairs, alignment, context=parts[0].context)


def resized(cache: Array, axis: int | None, size: int, alignment: Alignment) -> Array:
    """A cache with a number of places: zeros are added, or places cut, opposite to where tokens are."""
    if axis is None or cache.shape[axis] == size:
        return cache
    before = cache.shape[axis]
    if before > size:
        places = slice(size) if alignment == "start" else slice(before - size, None)
        return cache[(slice(None),) * axis + (places,)]
    missing = (0, size - before) if alignment == "start" else (size - before, 0)
    return np.pad(cache, [missing if number == axis else (0, 0) for number in range(cache.ndim)])


def read_rows(
    decoder: TokenDecoder, rows: PaddedRows, new: Array, cancellation: CancellationToken | None = None
) -> tuple[Array, PaddedRows]:
    """Logits [rows, length, vocabulary] of the tokens that follow in each row, and the rows after them.

    new: [rows, length] int64.
    """
    tokens = tuple(np.concatenate(pair) for pair in zip(rows.tokens, new, strict=True))
    if not decoder.roles.caches:
        length = decoder.window or len(tokens[0])
        every = np.stack([row[-length:] for row in tokens])
        state = decoder.start(len(tokens), rows.context)
        logits, _ = decoder.read(state, every, cancellation=cancellation)
        return logits[:, -new.shape[1] :], replace(rows, tokens=tokens)
    expected = int(rows.lengths.max()) + new.shape[1]
    known = {**rows.context, **rows.caches}
    logits, caches, claim = continue_caches(
        decoder, known, rows.claim, rows.lengths, new, expected, cancellation, rows.alignment
    )
    return logits, PaddedRows(tokens, caches, rows.pairs, rows.alignment, claim, rows.context)
