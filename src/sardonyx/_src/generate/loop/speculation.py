"""Speculative decoding of one result: a decoder reads proposed tokens in one run, and keeps those that it chooses itself.

A token is chosen by the logits and random number of its place whether or not it was proposed, so that drafts change no result
(Leviathan et al., 2023, for drafts of one token at each place).  Logits may differ in the last bit from those of a run of one
token, since products of one and of several rows add in different orders.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sardonyx._src.generate.decoder.decoder import TokenDecoder
from sardonyx._src.generate.drafts.draft import Draft, DraftStats
from sardonyx._src.generate.loop.continuation import Continuation
from sardonyx._src.generate.loop.request import GenerationRequest, read_prompt
from sardonyx._src.generate.loop.sampling import require_number
from sardonyx._src.generate.results import Piece
from sardonyx._src.generate.text.tokenizer import Tokenizer


def speculate(
    decoder: TokenDecoder,
    request: GenerationRequest,
    tokenizer: Tokenizer | None,
    draft: Draft,
    length: int,
    stats: DraftStats,
) -> Iterator[Piece]:
    """The pieces of one result.  length: the tokens of a draft at most; drafts of a text that they do not hit are shorter."""
    logits, state = read_prompt(decoder, request)
    continuation = Continuation(0, request, tokenizer)
    rows, drafted = logits[None], np.zeros(0, np.int64)
    before = state.length  # tokens that have been read and chosen
    current = length
    while True:
        for place, row in enumerate(rows):
            choice = continuation.choose(row)
            require_number(row, choice.token, len(continuation.tokens))
            is_drafted = place < len(drafted) and choice.token == drafted[place]
            stats.accepted += is_drafted
            yield continuation.add(choice)
            if continuation.reason is not None or not is_drafted:
                break
        state = state.cut(before + place, decoder.roles.caches)
        if continuation.reason is not None:
            if request.prefixes is not None:
                request.prefixes.keep(state)
            return
        current = next_length(current, len(drafted), place, length)
        left = min(current, request.room - len(continuation.tokens) - 1)
        generated = continuation.generated
        drafted = (
            draft.propose(request.prompt, generated, left, request.settings) if left > 0 else drafted[:0]
        )
        stats.drafted += len(drafted)
        before = state.length + 1
        block = np.concatenate([generated[-1:], drafted])
        logits, state = decoder.read(state, block[None], cancellation=request.cancellation)
        rows = logits[0]


def next_length(length: int, drafted: int, accepted: int, most: int) -> int:
    """The length of the next draft, since a run takes longer with each token of a draft.

    Drafts that were right double, up to `most`; others become one token longer than what was right of them, or half as long.
    None follows a single token that was wrong, and a single one follows that.
    """
    if drafted == 0:
        return max(length, 1)
    if accepted == drafted:
        return min(2 * length, most)
    return accepted + 1 if accepted else length // 2
