"""The state of a decoder: the tokens so far, and the caches that it computed of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.generate.decoder.cache_memory import CacheClaim
from sardonyx._src.generate.decoder.cache_pairs import CachePair
from sardonyx._src.ir import Array


@dataclass(frozen=True, slots=True)
class DecoderState:
    """Tokens that a decoder has read, one sequence a row.  States are not changed, so that a fork is the state itself.

    tokens: [batch, length] int64.
    caches: arrays by the names of the decoder's inputs; their first axis is that of the rows.
    claim: of the memory that some of the caches are views of, in which a run may continue them; None for no such memory.
    context: what an encoder computed, and the caches of it, which stay as they are, in the same form.
    """

    tokens: Array
    caches: Mapping[str, Array]
    claim: CacheClaim | None = None
    context: Mapping[str, Array] = field(default_factory=dict)

    @property
    def length(self) -> int:
        return int(self.tokens.shape[1])

    @property
    def bytes(self) -> int:
        """The bytes of the caches, with the room in their memory."""
        memory = self.claim.memory if self.claim is not None else None
        shared = memory.arrays if memory is not None else {}
        rest = sum(cache.nbytes for name, cache in self.caches.items() if name not in shared)
        return rest + (memory.bytes if memory is not None else 0)

    def select(self, rows: Array) -> DecoderState:
        """The state of these rows, in this order; a row may occur several times, and boolean masks select, too."""
        numbers = np.arange(len(self.tokens))
        if np.array_equal(numbers[rows], numbers):
            return self
        memory = self.claim.memory.select(rows) if self.claim is not None else None
        views = memory.views(self.length) if memory is not None else {}
        caches = {name: views[name] if name in views else cache[rows] for name, cache in self.caches.items()}
        claim = memory.claim(self.length) if memory is not None else None
        context = {name: array[rows] for name, array in self.context.items()}
        return DecoderState(self.tokens[rows], caches, claim, context)

    def cut(self, length: int, pairs: tuple[CachePair, ...]) -> DecoderState:
        """The state after the first tokens alone.

        Caches that grow are cut, and buffers are kept, since the next tokens replace what follows.  Raises InputError for
        a state that has no parts for single tokens, as that of a recurrent layer.
        """
        if not 0 <= length <= self.length:
            raise InputError(f"length must be in 0 to {self.length}; got {length}", name="length")
        if length == self.length:
            return self
        memory = self.claim.memory if self.claim is not None else None
        views = memory.views(length) if memory is not None else {}
        caches = {
            pair.past: views[pair.past]
            if pair.past in views
            else cut_cache(self.caches[pair.past], pair, length)
            for pair in pairs
        }
        claim = memory.claim(length) if memory is not None else None
        return DecoderState(self.tokens[:, :length], caches, claim, self.context)


def cut_cache(cache: Array, pair: CachePair, length: int) -> Array:
    if not pair.has_positions:
        raise InputError(
            f"the caches of a decoder that is cut must hold tokens at places of their own; got {pair.past!r}, a state of all tokens",
            name="length",
        )
    return cache if pair.axis is None else np.ascontiguousarray(np.take(cache, range(length), axis=pair.axis))
