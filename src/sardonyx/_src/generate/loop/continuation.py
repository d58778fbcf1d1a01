"""One result while it is generated: its tokens, its text, and whether it has ended."""

from __future__ import annotations

import numpy as np

from sardonyx._src.generate.choice.allowed_tokens import allowed_tokens
from sardonyx._src.generate.choice.choice import Choice, choose
from sardonyx._src.generate.loop.request import GenerationRequest
from sardonyx._src.generate.results import FinishReason, Piece, TokenLogprob
from sardonyx._src.generate.text.stop_texts import StopTexts
from sardonyx._src.generate.text.tokenizer import Tokenizer
from sardonyx._src.ir import Array

FIRST_ROOM = 64  # tokens


class Continuation:
    """A result that grows.

    number: of the result, of several.
    """

    def __init__(self, number: int, request: GenerationRequest, tokenizer: Tokenizer | None) -> None:
        self.number, self.request = number, request
        self.tokens: list[int] = []
        self.memory = np.empty(FIRST_ROOM, np.int64)  # of the same tokens, with room for more
        self.stream = tokenizer.stream() if tokenizer is not None else None
        self.stop = StopTexts(request.settings.stop)
        self.matcher = request.grammar.start() if request.grammar is not None else None
        self.reason: FinishReason | None = None

    def choose(self, logits: Array) -> Choice:
        """The next token by the logits [vocabulary] after the latest one."""
        settings, prompt = self.request.settings, self.request.prompt
        return choose(
            logits, settings, prompt, self.generated, result=self.number, allowed=self.allowed(len(logits))
        )

    @property
    def generated(self) -> Array:
        """The tokens, [length] int64."""
        return self.memory[: len(self.tokens)]

    def allowed(self, vocabulary: int) -> Array | None:
        """Which tokens may come next; None for all."""
        request = self.request
        mask = allowed_tokens(
            request.settings, request.prompt.size, len(self.tokens), request.ends, vocabulary
        )
        if self.matcher is None:
            return mask
        of_grammar = self.matcher.allowed()
        return of_grammar if mask is None else of_grammar & mask

    def add(self, choice: Choice) -> Piece:
        """The piece that a chosen token adds."""
        if choice.token in self.request.ends:
            self.reason = "stop"
            return Piece(self.rest(), (), (), self.number, self.reason)
        if len(self.tokens) == len(self.memory):
            self.memory = np.concatenate([self.memory, np.empty_like(self.memory)])
        self.memory[len(self.tokens)] = choice.token
        self.tokens.append(choice.token)
        text = self.stream.step(choice.token) if self.stream is not None else ""
        certain, is_stopped = self.stop.add(text)
        is_complete = self.matcher is not None and self.matcher.add(choice.token)
        if is_stopped or is_complete:
            self.reason = "stop"
        elif len(self.tokens) >= self.request.room:
            self.reason = "length"
        if self.reason is not None and not is_stopped:
            certain += self.rest()
        return Piece(certain, (choice.token,), logprobs_of(choice), self.number, self.reason)

    def rest(self) -> str:
        """The text that was held back: the rest of a character, and what could have begun a stop text."""
        certain, is_stopped = self.stop.add(self.stream.rest() if self.stream is not None else "")
        return certain if is_stopped else certain + self.stop.rest()


def logprobs_of(choice: Choice) -> tuple[TokenLogprob, ...]:
    if choice.logprob is None:
        return ()
    return (TokenLogprob(choice.token, choice.logprob, choice.alternatives),)
