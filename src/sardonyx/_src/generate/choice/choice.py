"""The next token of a sequence."""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.generate.choice.arithmetic import running_sum
from sardonyx._src.generate.choice.draws import uniform
from sardonyx._src.generate.choice.filters import candidates, in_order, most_probable
from sardonyx._src.generate.choice.penalties import apply_penalties
from sardonyx._src.generate.choice.settings import GREEDY, Settings
from sardonyx._src.ir import Array


@dataclass(frozen=True, slots=True)
class Choice:
    """A token that was chosen.

    logprob: the natural logarithm of its probability, as the model computes it; None if it is not required.
    alternatives: the most probable tokens with theirs.
    """

    token: int
    logprob: float | None = None
    alternatives: tuple[tuple[int, float], ...] = ()


def choose(
    logits: Array,
    settings: Settings,
    prompt: Array,
    generated: Array,
    *,
    result: int = 0,
    allowed: Array | None = None,
) -> Choice:
    """The next token.

    logits: [vocabulary] float32; prompt, generated: [length] tokens of the sequence.
    result: the number of the result, of several.
    allowed: which tokens may come next, [vocabulary] bool; None for all.
    """
    token = choose_token(logits, settings, prompt, generated, result, allowed)
    if settings.logprobs is None:
        return Choice(token)
    logarithms = log_probabilities(logits)
    best = most_probable(logits, settings.logprobs) if settings.logprobs else np.zeros(0, np.int64)
    listed = tuple((int(i), float(logarithms[i])) for i in in_order(logits, best))
    return Choice(token, float(logarithms[token]), listed)


def choose_token(
    logits: Array, settings: Settings, prompt: Array, generated: Array, result: int, allowed: Array | None
) -> int:
    scores = apply_penalties(logits, settings, prompt, generated)
    if allowed is not None:
        scores = np.where(allowed, scores, -math.inf)
    if settings.temperature == GREEDY:
        return int(np.argmax(scores))
    tokens, shares = candidates(scores.astype(np.float64) / settings.temperature, settings)
    place = np.searchsorted(running_sum(shares), uniform(settings.seed, result, generated.size), side="right")
    return int(tokens[min(int(place), len(tokens) - 1)])


def log_probabilities(logits: Array) -> Array:
    """The logarithms of the softmax of logits [..., vocabulary], in float64."""
    shifted = logits.astype(np.float64) - logits.max(axis=-1, keepdims=True)
    result: Array = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return result
