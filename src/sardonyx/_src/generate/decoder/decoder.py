"""A decoder: a session that reads tokens, and gives logits of the next ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from sardonyx._src.errors import InputError
from sardonyx._src.generate.decoder.cache_continuation import continue_caches
from sardonyx._src.generate.decoder.cache_memory import CacheMemory
from sardonyx._src.generate.decoder.decoder_model import DecoderModel, as_logits
from sardonyx._src.generate.decoder.empty_caches import empty_cache, unread_cache
from sardonyx._src.generate.decoder.state import DecoderState
from sardonyx._src.interp.run_control import CancellationToken
from sardonyx._src.ir import Array

MAX_LOGITS_BYTES = 64 << 20  # of a run: most models compute logits of every token of a prompt
MAX_CHUNK = 512  # tokens of a run: enough for products at the machine's rate


class TokenDecoder(DecoderModel):
    """Reads tokens with a session, whose caches it feeds back.  The arguments are those of `DecoderModel`."""

    def start(self, rows: int = 1, context: Mapping[str, Array] | None = None) -> DecoderState:
        """The state before the first token, of a number of sequences.  context: what an encoder computed of each."""
        context = context or {}
        caches = {
            pair.past: empty_cache(self.inputs[pair.past], self.shape_of(pair.past), pair.axis, rows)
            for pair in self.roles.caches
        }
        lengths = {
            dim: size
            for name in context.keys() & self.inputs.keys()
            for dim, size in zip(self.shape_of(name), context[name].shape, strict=True)
        }
        cross = {
            pair.past: unread_cache(self.inputs[pair.past], self.shape_of(pair.past), rows, lengths)
            for pair in self.roles.cross
        }
        fixed = {pair.past: caches[pair.past] for pair in self.updated if pair.axis is None}
        is_owned = bool(fixed) and len(fixed) == len(self.updated)
        claim = CacheMemory(fixed, self.updated).claim(0) if is_owned else None
        return DecoderState(np.zeros((rows, 0), np.int64), caches, claim, {**context, **cross})

    def read(
        self,
        state: DecoderState,
        tokens: Array,
        *,
        cancellation: CancellationToken | None = None,
        advance: Callable[[int], None] | None = None,
    ) -> tuple[Array, DecoderState]:
        """Logits [batch, read, vocabulary] of the tokens that follow, and the state after reading.

        tokens: [batch, length] int64, at least one.  Long prompts are read in parts, and `read` is the length of the last
            part, or 1 for a model that computes logits of its last token only.
        advance: is called with the number of tokens after each part.
        """
        if not self.roles.caches:
            return self.read_without_caches(state, tokens, cancellation)
        logits, expected = None, state.length + tokens.shape[1]
        for part in self.parts(tokens):
            logits, state = self.read_part(state, part, expected, cancellation)
            if advance is not None:
                advance(part.shape[1])
        if logits is None:
            raise InputError("tokens to read must be at least one; got none", name="tokens")
        return logits, state

    def read_part(
        self, state: DecoderState, tokens: Array, expected: int, cancellation: CancellationToken | None
    ) -> tuple[Array, DecoderState]:
        """`read` of tokens that one run reads.  expected: the tokens of the state after later parts."""
        every, lengths = np.concatenate([state.tokens, tokens], axis=1), np.full(len(tokens), state.length)
        known = {**state.context, **state.caches} if state.context else state.caches
        logits, caches, claim = continue_caches(
            self, known, state.claim, lengths, tokens, expected, cancellation
        )
        if not self.roles.cross:
            return logits, DecoderState(every, caches, claim, state.context)
        crossed = {pair.past for pair in self.roles.cross}
        cross = {name: cache for name, cache in caches.items() if name in crossed}
        rest = {name: cache for name, cache in caches.items() if name not in crossed}
        return logits, DecoderState(every, rest, claim, {**state.context, **cross})

    def parts(self, tokens: Array) -> Iterator[Array]:
        """Tokens in parts that bound the memory of logits."""
        if self.window not in (None, 1):
            raise InputError(
                f"a decoder with caches must read any number of tokens or one; this one reads {self.window}",
                name="tokens",
            )
        bounded = MAX_LOGITS_BYTES // (4 * (self.vocabulary or 1) * len(tokens))
        size = 1 if self.window == 1 else max(1, min(MAX_CHUNK, bounded))
        for first in range(0, tokens.shape[1], size):
            yield tokens[:, first : first + size]

    def read_without_caches(
        self, state: DecoderState, tokens: Array, cancellation: CancellationToken | None
    ) -> tuple[Array, DecoderState]:
        """One run of the session on all tokens, or on the last ones of a model that reads a fixed number."""
        every = np.concatenate([state.tokens, tokens], axis=1)
        if self.window is not None and every.shape[1] < self.window:
            raise InputError(
                f"the prompt must have at least {self.window} tokens, which the model reads at a time; got {every.shape[1]}",
                name="tokens",
            )
        shown = every if self.window is None else every[:, -self.window :]
        feeds = {**state.context, **self.numbers(shown, np.zeros(len(shown), np.int64))}
        results = self.session.run(feeds, cancellation=cancellation)
        logits = as_logits(results[self.roles.names["logits"]])
        return logits[:, -tokens.shape[1] :], DecoderState(every, {}, context=state.context)
