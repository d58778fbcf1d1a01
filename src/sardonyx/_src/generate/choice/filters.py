"""Which tokens may be drawn: the most probable ones, by number or by probability."""

from __future__ import annotations

import numpy as np

from sardonyx._src.generate.choice.arithmetic import exp, probabilities, running_sum
from sardonyx._src.generate.choice.settings import Settings
from sardonyx._src.ir import Array

FIRST_CANDIDATES = 256  # that are sorted at first, instead of the whole vocabulary, for `top_p`


def candidates(logits: Array, settings: Settings) -> tuple[Array, Array]:
    """The tokens that may be drawn, most probable first, and their probabilities, which add up to 1.

    logits: [vocabulary] float64, divided by the temperature.  Tokens of equal logits are in the order of their numbers.
    """
    tokens = most_probable(logits, settings.top_k) if settings.top_k else np.arange(len(logits))
    if settings.top_p < 1:
        tokens = nucleus(logits, tokens, settings.top_p)
    tokens = in_order(logits, tokens) if settings.top_k or settings.top_p < 1 or settings.min_p else tokens
    if settings.min_p:
        shares = exp(logits[tokens] - logits[tokens[0]])
        tokens = tokens[shares >= settings.min_p]
    return tokens, probabilities(logits[tokens])


def most_probable(logits: Array, count: int) -> Array:
    """The `count` tokens of the highest logits; of equal ones those of the lowest numbers."""
    if count >= len(logits):
        return np.arange(len(logits))
    least = np.partition(logits, -count)[-count]
    above = np.flatnonzero(logits > least)
    return np.concatenate([above, np.flatnonzero(logits == least)[: count - len(above)]])


def nucleus(logits: Array, tokens: Array, share: float) -> Array:
    """The fewest of the most probable tokens whose probabilities among `tokens` add up to `share`."""
    scale = logits[tokens].max()
    total = running_sum(exp(logits[tokens] - scale))[-1]
    count = min(FIRST_CANDIDATES, len(tokens))
    while True:
        first = in_order(logits, tokens[most_probable(logits[tokens], count)])
        sums = running_sum(exp(logits[first] - scale)) / total
        if sums[-1] >= share or count == len(tokens):
            return first[: int(np.searchsorted(sums, share)) + 1]
        count = min(count * 8, len(tokens))


def in_order(logits: Array, tokens: Array) -> Array:
    """Tokens, most probable first; those of equal logits in the order of their numbers."""
    return tokens[np.lexsort((tokens, -logits[tokens]))]
