"""Sequences of different lengths that a decoder reads together: their caches are padded to the longest one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.generate.decoder.cache_memory import CacheClaim
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
    """

    tokens: tuple[Array, ...]
    caches: Mapping[str, Array]
    pairs: tuple[CachePair, ...]
    alignment: Alignment
    claim: CacheClaim | None = None

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
        return DecoderState(self.tokens[number][None], caches)

    def select(self, numbers: Sequence[int]) -> PaddedRows:
        """The rows of these numbers, in this order, padded to the longest of them."""
        tokens = tuple(self.tokens[number] for number in numbers)
        size = max((len(row) for row in tokens), default=0)
        caches = {
            pair.past: resized(self.caches[pair.past][list(numbers)], pair.axis, size, self.alignment)
            for pair in self.pairs
        }
        return PaddedRows(tokens, caches, self.pairs, self.alignment)


def pad_states(
    states: Iterable[DecoderState | PaddedRows], pairs: tuple[CachePair, ...], alignment: Alignment
) -> PaddedRows:
    """The rows of several states, padded to the longest one."""
    parts = list(states)
    tokens = tuple(row for part in parts for row in part.tokens)
    size = max(len(row) for row in tokens)
    caches = {}
    for pair in pairs:
        caches[pair.past] = np.concatenate(
            [resized(part.caches[pair.past], pair.axis, size, alignment) for part in parts]
        )
    return PaddedRows(tokens, caches, pairs, alignment)


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
    """Logits [rows, vocabulary] after one more token of each row, and the rows after it.

    new: [rows] int64.
    """
    tokens = tuple(np.append(row, token) for row, token in zip(rows.tokens, new, strict=True))
    if not decoder.roles.caches:
        length = decoder.window or len(tokens[0])
        every = np.stack([row[-length:] for row in tokens])
        logits, _ = decoder.read(decoder.start(len(tokens)), every, cancellation=cancellation)
        return logits[:, -1], PaddedRows(tokens, {}, rows.pairs, rows.alignment)
    expected = int(rows.lengths.max()) + 1
    logits, caches, claim = decoder.continue_caches(
        rows.caches, rows.claim, rows.lengths, new[:, None], expected, cancellation, rows.alignment
    )
    return logits[:, -1], PaddedRows(tokens, caches, rows.pairs, rows.alignment, claim)
