"""States of earlier prompts, from which a prompt that begins alike continues."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from sardonyx._src.generate.decoder.cache_pairs import CachePair
from sardonyx._src.generate.decoder.state import DecoderState
from sardonyx._src.ir import Array


class PrefixStore:
    """The states of the latest prompts, up to a number of bytes.  Several threads may use it.

    limit: bytes of all caches together; a state of more bytes is not kept.
    """

    def __init__(self, limit: int, pairs: tuple[CachePair, ...]) -> None:
        self.limit, self.pairs = limit, pairs
        self.states: list[DecoderState] = []  # of one row each, the latest one last
        self.lock = threading.Lock()

    @property
    def bytes(self) -> int:
        """The bytes of all caches."""
        with self.lock:
            return bytes_of(self.states)

    def keep(self, state: DecoderState) -> None:
        """Keeps a state of one row; states that it continues, and the oldest ones beyond the limit, are forgotten."""
        if not state.caches or state.bytes > self.limit:
            return
        with self.lock:
            others = [
                item for item in self.states if common_length(item.tokens[0], state.tokens[0]) < item.length
            ]
            self.states = [*others, state]
            while bytes_of(self.states) > self.limit:
                del self.states[0]

    def longest(self, tokens: Array) -> DecoderState | None:
        """The state after as many of these tokens as a kept one has, but for the last token; None for none.

        A state that cannot be cut serves only if the tokens begin with all of its own.
        """
        with self.lock:
            lengths = [min(common_length(item.tokens[0], tokens), len(tokens) - 1) for item in self.states]
            can_cut = all(pair.has_positions for pair in self.pairs)
            usable = [
                (length, number)
                for number, length in enumerate(lengths)
                if length and (can_cut or length == self.states[number].length)
            ]
            if not usable:
                return None
            length, number = max(usable)
            state = self.states.pop(number)
            self.states.append(state)
        return state.cut(length, self.pairs)


def bytes_of(states: Sequence[DecoderState]) -> int:
    """The bytes of the caches of states; those in memory that several of them share count once."""
    memories = {item.claim.memory for item in states if item.claim is not None}
    others = (item.bytes - (item.claim.memory.bytes if item.claim is not None else 0) for item in states)
    return sum(others) + sum(memory.bytes for memory in memories)


def common_length(a: Array, b: Array) -> int:
    """The number of tokens with which both begin."""
    size = min(len(a), len(b))
    differs = np.flatnonzero(a[:size] != b[:size])
    return int(differs[0]) if differs.size else size
