"""A prompt and what its results must be like, as the generator has checked them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.generate.choice.settings import Settings
from sardonyx._src.generate.decoder.decoder import TokenDecoder
from sardonyx._src.generate.decoder.prefix_store import PrefixStore
from sardonyx._src.generate.decoder.state import DecoderState
from sardonyx._src.generate.text.grammar import Grammar
from sardonyx._src.interp.run_control import CancellationToken
from sardonyx._src.ir import Array


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """A prompt to continue.

    prompt: [length] tokens, at least one.
    room: the tokens that a result may have.
    ends: tokens that end a result.
    grammar: what the text of each result must match; None for any text.
    prefixes: states of earlier prompts.
    advance: is called with the number of tokens of the prompt that have been read, part by part.
    context: computes what an encoder has of the prompt, for one row, by the names of the decoder's inputs.
    """

    prompt: Array
    settings: Settings
    room: int
    ends: tuple[int, ...]
    grammar: Grammar | None = None
    prefixes: PrefixStore | None = None
    cancellation: CancellationToken | None = None
    advance: Callable[[int], None] | None = None
    context: Callable[[], Mapping[str, Array]] | None = None


def read_prompt(decoder: TokenDecoder, request: GenerationRequest) -> tuple[Array, DecoderState]:
    """The logits [vocabulary] after the prompt, and the state of one row, which begins with a kept one if there is one."""
    known = request.prefixes.longest(request.prompt) if request.prefixes is not None else None
    state = (
        known if known is not None else decoder.start(context=request.context() if request.context else None)
    )
    if known is not None and request.advance is not None:
        request.advance(known.length)
    rest = request.prompt[None, state.length :]
    logits, state = decoder.read(state, rest, cancellation=request.cancellation, advance=request.advance)
    if request.prefixes is not None:
        request.prefixes.keep(state)
    return logits[0, -1], state


def repeated(state: DecoderState, rows: int) -> DecoderState:
    """The state of several rows that are all the same."""
    return state if rows == 1 else state.select(np.zeros(rows, np.int64))
