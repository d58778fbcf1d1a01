"""A request in a batch: its results while they grow, and where their pieces go."""

from __future__ import annotations

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.generate.batching.streams import Deliver
from sardonyx._src.generate.decoder.decoder import TokenDecoder
from sardonyx._src.generate.decoder.state import DecoderState
from sardonyx._src.generate.drafts.draft import Draft
from sardonyx._src.generate.loop.continuation import Continuation
from sardonyx._src.generate.loop.request import GenerationRequest
from sardonyx._src.generate.loop.sampling import require_number
from sardonyx._src.generate.loop.speculation import next_length
from sardonyx._src.generate.text.tokenizer import Tokenizer
from sardonyx._src.interp.run_control import CancellationToken
from sardonyx._src.ir import Array

# A row whose drafts are all wrong has one in 17 runs, which costs it some percent.
MAX_MISSES = 4


class BatchedRequest:
    """A request and its rows.

    request: whose `cancellation` is the batch's own, for the request alone.
    caller: the token of the caller; None for none.
    state: what has been read of the prompt; None before that.
    """

    def __init__(
        self,
        request: GenerationRequest,
        tokenizer: Tokenizer | None,
        deliver: Deliver,
        caller: CancellationToken | None,
    ) -> None:
        self.request, self.deliver, self.caller = request, deliver, caller
        self.state: DecoderState | None = None
        numbers = range(request.settings.n)
        self.rows = [BatchedRow(self, Continuation(number, request, tokenizer)) for number in numbers]

    @property
    def is_cancelled(self) -> bool:
        own = self.request.cancellation
        return (own is not None and own.is_cancelled) or (
            self.caller is not None and self.caller.is_cancelled
        )

    @property
    def has_ended(self) -> bool:
        return all(row.continuation.reason is not None for row in self.rows)

    def begin(self, decoder: TokenDecoder) -> int:
        """Takes the state of an earlier prompt that begins alike, if there is one; returns its number of tokens."""
        request = self.request
        known = request.prefixes.longest(request.prompt) if request.prefixes is not None else None
        context = request.context() if request.context is not None else None
        self.state = known if known is not None else decoder.start(context=context)
        if known is not None and request.advance is not None:
            request.advance(known.length)
        return self.state.length

    def read(self, decoder: TokenDecoder, count: int) -> Array | None:
        """Reads at most `count` tokens of the prompt; logits [vocabulary] after the last one, else None.

        A model without caches reads all of them at once.
        """
        assert self.state is not None, "the request has begun"
        request, read = self.request, self.state.length
        end = read + count if decoder.roles.caches else None
        tokens = request.prompt[None, read:end]
        logits, self.state = decoder.read(
            self.state, tokens, cancellation=request.cancellation, advance=request.advance
        )
        if self.state.length < len(request.prompt):
            return None
        if request.prefixes is not None:
            request.prefixes.keep(self.state)
        latest: Array = logits[0, -1]
        return latest


@dataclass(slots=True)
class BatchedRow:
    """A result of a request.

    token: the latest one, which is read next.
    draft_length: the tokens of its next draft, which get fewer where it chooses others.
    misses, pause: drafts in turn of which no token was right, and runs without a draft that follow them.
    """

    owner: BatchedRequest
    continuation: Continuation
    token: int = 0
    draft_length: int = 1
    misses: int = 0
    pause: int = 0

    @property
    def left(self) -> int:
        """The tokens for which the result has room."""
        return self.owner.request.room - len(self.continuation.tokens)

    def propose(self, draft: Draft, most: int) -> Array:
        """At most `most` tokens that may come after the latest one, [length]."""
        if self.pause:
            self.pause -= 1
            return np.zeros(0, np.int64)
        request, count = self.owner.request, min(self.draft_length, most)
        generated = np.array(self.continuation.tokens, np.int64)
        return draft.propose(request.prompt, generated, count, request.settings)

    def adapt_draft(self, drafted: int, accepted: int, most: int) -> None:
        """Adapts the length of the next draft to what was right of one; after wrong ones, others wait longer and longer."""
        if not drafted:
            return
        self.misses = 0 if accepted else min(self.misses + 1, MAX_MISSES)
        self.pause = 0 if accepted else 1 << self.misses
        self.draft_length = max(next_length(self.draft_length, drafted, accepted, most), 1)

    def choose(self, logits: Array) -> bool:
        """Chooses and delivers the next token by the logits [vocabulary]; whether the result goes on."""
        choice = self.continuation.choose(logits)
        require_number(logits, choice.token, len(self.continuation.tokens))
        self.token = choice.token
        self.owner.deliver(self.continuation.add(choice))
        return self.continuation.reason is None
