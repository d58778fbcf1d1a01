"""Drafts of a smaller model."""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import InputError
from sardonyx._src.generate.choice.choice import choose
from sardonyx._src.generate.choice.settings import Settings
from sardonyx._src.generate.decoder.decoder import TokenDecoder
from sardonyx._src.generate.decoder.prefix_store import common_length
from sardonyx._src.ir import Array


class ModelDraft:
    """Proposes what a smaller decoder of the same tokens chooses.

    Where tokens are drawn, both draw with the same random numbers, so that they agree wherever their probabilities do (Daliri
    et al., 2024), and the result is the one without drafts.
    """

    def __init__(self, decoder: TokenDecoder) -> None:
        if not decoder.can_cut:
            raise InputError(
                "the caches of a draft must hold tokens at places of their own; got a recurrent state",
                name="draft",
            )
        self.decoder, self.state = decoder, decoder.start()

    def propose(self, prompt: Array, generated: Array, count: int, settings: Settings) -> Array:
        tokens = np.concatenate([prompt, generated])
        # Taken, so that it may be cut and continued in its memory; another thread may do so, too.
        state, self.state = self.state, self.decoder.start()
        kept = min(common_length(state.tokens[0], tokens), len(tokens) - 1)
        state = state.cut(kept, self.decoder.roles.caches)
        following, drafted = tokens[kept:], np.zeros(0, np.int64)
        while len(drafted) < count:
            logits, state = self.decoder.read(state, following[None])
            chosen = choose(logits[0, -1], settings, prompt, np.concatenate([generated, drafted]))
            following = np.array([chosen.token])
            drafted = np.concatenate([drafted, following])
        self.state = state
        return drafted
