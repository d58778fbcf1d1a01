"""What a generation gives: pieces as they come, and results."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Literal, TypeAlias

from sardonyx._src.dataclass import dataclass

FinishReason: TypeAlias = Literal["stop", "length"]


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A token, and the natural logarithm of its probability.

    alternatives: the most probable tokens at its place, with theirs, the most probable one first.
    """

    token: int
    logprob: float
    alternatives: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Piece:
    """What one token, or the end, adds to a result.

    text: the characters that are complete now; often none, since a character may consist of several tokens, and what may be
        the begin of a stop text is held back.
    tokens: the tokens that this piece adds: one, none at the end, or all of a beam.
    logprobs: of these tokens, if required.
    result: the number of the result, of several.
    finish_reason: "stop" after a token or text that ends a result, "length" after the last token of `max_tokens` or of the
        context; None before.
    """

    text: str
    tokens: tuple[int, ...] = ()
    logprobs: tuple[TokenLogprob, ...] = ()
    result: int = 0
    finish_reason: FinishReason | None = None


@dataclass(slots=True)
class Result:
    """One continuation of a prompt.

    text: without special tokens and stop texts.
    tokens: without the token that ended it.
    logprobs: of the tokens; empty unless required.
    """

    text: str = ""
    tokens: list[int] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    finish_reason: FinishReason | None = None


@dataclass(frozen=True, slots=True)
class Generation:
    """The continuations of a prompt.  str(generation) is the text of the first.

    prompt_tokens: how many tokens the prompt has.
    """

    results: tuple[Result, ...]
    prompt_tokens: int

    @property
    def text(self) -> str:
        """The text of the first result."""
        return self.results[0].text

    @property
    def tokens(self) -> list[int]:
        """The tokens of the first result."""
        return self.results[0].tokens

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the first result ends."""
        return self.results[0].finish_reason

    def __str__(self) -> str:
        return self.text


def collect(pieces: Iterable[Piece], count: int) -> tuple[Result, ...]:
    """The results that pieces add up to."""
    results = tuple(Result() for _ in range(count))
    for piece in pieces:
        result = results[piece.result]
        result.text += piece.text
        result.tokens.extend(piece.tokens)
        result.logprobs.extend(piece.logprobs)
        result.finish_reason = piece.finish_reason or result.finish_reason
    return results
