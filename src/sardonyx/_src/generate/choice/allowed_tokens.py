"""Tokens that must not be chosen, and tokens that must be, by their places in a sequence.

`suppress_tokens`, `begin_suppress_tokens` and `forced_decoder_ids` of Transformers' configurations, which models of speech have.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.generate.choice.settings import Settings
from sardonyx._src.ir import Array


def allowed_tokens(
    settings: Settings, prompt: int, generated: int, ends: tuple[int, ...], vocabulary: int
) -> Array | None:
    """Which tokens may come next, [vocabulary] bool; None for all.

    prompt, generated: the numbers of tokens of the sequence.  ends: tokens that end a result.
    """
    forced = settings.forced_tokens.get(prompt + generated)
    if forced is not None:
        mask = np.zeros(vocabulary, bool)
        mask[forced] = True
        return mask
    forbidden = [*settings.suppress_tokens]
    begin = max([prompt, *(place + 1 for place in settings.forced_tokens)])
    if prompt + generated == begin:
        forbidden += settings.begin_suppress_tokens
    if generated < settings.min_tokens:
        forbidden += ends
    if not forbidden:
        return None
    mask = np.ones(vocabulary, bool)
    mask[[token for token in forbidden if token < vocabulary]] = False
    return mask
