"""Beam search: the continuations of the highest sums of logarithms of probabilities, continued side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.generate.choice.allowed_tokens import allowed_tokens
from sardonyx._src.generate.choice.choice import log_probabilities
from sardonyx._src.generate.choice.filters import in_order, most_probable
from sardonyx._src.generate.choice.penalties import apply_penalties
from sardonyx._src.generate.decoder.decoder import TokenDecoder
from sardonyx._src.generate.loop.request import GenerationRequest, read_prompt, repeated
from sardonyx._src.ir import Array


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A sequence of tokens.  score: its sum of logarithms by its length; has_ended: by a token that ends a result."""

    tokens: tuple[int, ...]
    score: float
    has_ended: bool


def search_beams(decoder: TokenDecoder, request: GenerationRequest) -> list[Hypothesis]:
    """The best `settings.n` sequences, the best one first.

    A sequence that ends leaves the beam.  The search ends when as many as the beam has places have ended, and the best of
    the others could not become better than they by one more token.  An end counts as a token of the length.
    """
    settings, room, ends = request.settings, request.room, request.ends
    first, state = read_prompt(decoder, request)
    state = repeated(state, settings.beams)
    scores = np.full(settings.beams, -np.inf)
    scores[0] = 0.0  # all beams are equal before the first token
    beams: list[tuple[int, ...]] = [()] * settings.beams
    latest = np.broadcast_to(first, (settings.beams, len(first)))
    finished: list[Hypothesis] = []
    for length in range(1, room + 1):
        totals = scores[:, None] + penalized(latest, request, beams)
        rows, tokens, sums = best_continuations(totals, 2 * settings.beams)
        is_end = np.isin(tokens, ends)
        divisor = length**settings.length_penalty
        for rank in np.flatnonzero(is_end & np.isfinite(sums)):
            if rank < settings.beams:
                finished.append(Hypothesis(beams[rows[rank]], float(sums[rank]) / divisor, has_ended=True))
        finished = best(finished, settings.beams)
        goes_on = np.flatnonzero(~is_end)[: settings.beams]
        rows, tokens, scores = rows[goes_on], tokens[goes_on], sums[goes_on]
        beams = [(*beams[row], int(token)) for row, token in zip(rows, tokens, strict=True)]
        if len(finished) == settings.beams and finished[-1].score >= float(sums.max()) / divisor:
            break
        if length < room:
            logits, state = decoder.read(
                state.select(rows), tokens[:, None], cancellation=request.cancellation
            )
            latest = logits[:, -1]
    else:
        divisor = room**settings.length_penalty
        alive = zip(beams, scores, strict=True)
        finished += [Hypothesis(tokens, float(score) / divisor, has_ended=False) for tokens, score in alive]
    return best(finished, settings.n)


def penalized(logits: Array, request: GenerationRequest, beams: Sequence[tuple[int, ...]]) -> Array:
    """Logarithms of probabilities [beams, vocabulary], with the penalties of each beam."""
    logarithms = log_probabilities(logits)
    for number, tokens in enumerate(beams):
        generated = np.array(tokens, np.int64)
        logarithms[number] = apply_penalties(logarithms[number], request.settings, request.prompt, generated)
        allowed = allowed_tokens(
            request.settings, request.prompt.size, len(tokens), request.ends, logits.shape[1]
        )
        if allowed is not None:
            logarithms[number, ~allowed] = -np.inf
    return logarithms


def best_continuations(totals: Array, count: int) -> tuple[Array, Array, Array]:
    """Beams, tokens and sums of the highest totals [beams, vocabulary], the highest one first."""
    flat = totals.reshape(-1)
    chosen = in_order(flat, most_probable(flat, count))
    return chosen // totals.shape[1], chosen % totals.shape[1], flat[chosen]


def best(hypotheses: Sequence[Hypothesis], count: int) -> list[Hypothesis]:
    return sorted(hypotheses, key=lambda item: -item.score)[:count]
