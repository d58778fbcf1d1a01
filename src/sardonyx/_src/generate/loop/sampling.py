"""Results that are chosen token by token, each independent of the others."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.generate.decoder.decoder import TokenDecoder
from sardonyx._src.generate.loop.continuation import Continuation
from sardonyx._src.generate.loop.request import GenerationRequest, read_prompt, repeated
from sardonyx._src.generate.results import Piece
from sardonyx._src.generate.text.tokenizer import Tokenizer
from sardonyx._src.ir import Array


def sample(decoder: TokenDecoder, request: GenerationRequest, tokenizer: Tokenizer | None) -> Iterator[Piece]:
    """The pieces of results, as their tokens are chosen."""
    first, state = read_prompt(decoder, request)
    active = [Continuation(number, request, tokenizer) for number in range(request.settings.n)]
    state, latest = repeated(state, len(active)), np.broadcast_to(first, (len(active), len(first)))
    while True:
        tokens = []
        for logits, continuation in zip(latest, active, strict=True):
            choice = continuation.choose(logits)
            require_number(logits, choice.token, len(continuation.tokens))
            tokens.append(choice.token)
            yield continuation.add(choice)
        goes_on = [continuation.reason is None for continuation in active]
        if not all(goes_on):
            if request.prefixes is not None and len(active) == 1:
                request.prefixes.keep(state)
            state = state.select(np.array(goes_on))
            active = [continuation for continuation in active if continuation.reason is None]
        if not active:
            return
        following = np.array([[token] for token, is_open in zip(tokens, goes_on, strict=True) if is_open])
        logits, state = decoder.read(state, following, cancellation=request.cancellation)
        latest = logits[:, -1]


def require_number(logits: Array, token: int, position: int) -> None:
    """Raises EvaluationError if the model computes no numbers."""
    if math.isnan(logits[token]):
        raise EvaluationError(
            f"the logits of a decoder must be numbers; got NaN after {position} tokens of the result"
        )
