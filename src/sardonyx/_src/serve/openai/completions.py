"""Completions: the continuations of texts, at once or as events."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from sardonyx._src.dataclass import dataclass
from sardonyx._src.generate.choice.settings import SettingsKeywords
from sardonyx._src.generate.generator import Generator
from sardonyx._src.generate.results import Piece, TokenLogprob
from sardonyx._src.serve.models.language.generation import TextGeneration
from sardonyx._src.serve.openai.failures import ParameterFailure
from sardonyx._src.serve.openai.fields import Fields
from sardonyx._src.serve.openai.logprobs import completion_logprobs
from sardonyx._src.serve.openai.merging import merged
from sardonyx._src.serve.openai.prompts import read_prompts
from sardonyx._src.serve.openai.sampling import (
    SAMPLING,
    STREAMING,
    WITHOUT_EFFECT,
    check_room,
    read_settings,
    read_streaming,
)
from sardonyx._src.serve.openai.usage import Usage

MAX_TOKENS = 16  # the interface's default
MAX_LOGPROBS = 20
MAX_PROMPTS = 128
KNOWN = {
    *SAMPLING,
    *STREAMING,
    *WITHOUT_EFFECT,
    *("prompt", "max_tokens", "logprobs", "echo", "suffix", "best_of", "regex", "grammar", "json_schema"),
}


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """A request for the continuations of prompts.

    prompts: their tokens.  echoes: what each text begins with: "", or the prompt.
    is_stream, include_usage: whether events are sent, and whether the last one has the usage.
    """

    prompts: list[list[int]]
    echoes: list[str]
    settings: SettingsKeywords
    is_stream: bool
    include_usage: bool

    @property
    def count(self) -> int:
        """The number of results of a prompt."""
        return self.settings.get("n", 1)


def read_completion(fields: Fields, generator: Generator) -> CompletionRequest:
    """The request with these fields.  Raises ParameterFailure."""
    fields.refuse_others(KNOWN)
    fields.refuse_unless("suffix", "")
    settings = read_settings(fields, generator)
    fields.refuse_unless("best_of", settings.get("n", 1))
    settings["max_tokens"] = fields.integer("max_tokens", 1) or MAX_TOKENS
    if (logprobs := fields.integer("logprobs", 0, MAX_LOGPROBS)) is not None:
        settings["logprobs"] = logprobs
    if (regex := fields.text("regex")) is not None:
        settings["regex"] = regex
    if (grammar := fields.text("grammar")) is not None:
        settings["grammar"] = grammar
    if (schema := fields.child("json_schema")) is not None:
        settings["json_schema"] = schema.values
    prompts = read_prompts(fields, "prompt", generator.encode, MAX_PROMPTS)
    for prompt in prompts:
        check_room(prompt, generator, "prompt")
    echoes = [""] * len(prompts)
    if fields.flag("echo"):
        if logprobs is not None:
            raise ParameterFailure("echo", "echo must be false with logprobs, which are of results alone")
        echoes = [decode(prompt, generator) for prompt in prompts]
    return CompletionRequest(prompts, echoes, settings, *read_streaming(fields))


def decode(tokens: list[int], generator: Generator) -> str:
    return "" if generator.tokenizer is None else generator.tokenizer.decode(tokens)


class Completion:
    """The response to a request."""

    def __init__(self, model: str, generation: TextGeneration, request: CompletionRequest) -> None:
        self._generation, self._request = generation, request
        self._tokenizer = generation.generator.tokenizer
        self._usage = Usage(sum(map(len, request.prompts)))
        self._head = {
            "id": f"cmpl-{uuid.uuid4().hex}",
            "object": "text_completion",
            "created": int(time.time()),
            "model": model,
        }

    async def events(self) -> AsyncGenerator[object, None]:
        """The chunks of a stream."""
        head = {**self._head, **({"usage": None} if self._request.include_usage else {})}
        offsets = [0] * (len(self._request.prompts) * self._request.count)
        async with aclosing(self._pieces()) as pieces:
            async for number, piece in pieces:
                if piece.text or piece.logprobs or piece.finish_reason:
                    logprobs = self._logprobs(piece.logprobs, offsets[number])
                    offsets[number] += len(piece.text)
                    yield {**head, "choices": [choice_of(number, piece.text, logprobs, piece.finish_reason)]}
        if self._request.include_usage:
            yield {**head, "choices": [], "usage": self._usage.describe()}

    async def response(self) -> dict[str, object]:
        """The whole response."""
        count = len(self._request.prompts) * self._request.count
        texts, reasons = [""] * count, [""] * count
        logprobs: list[list[TokenLogprob]] = [[] for _ in range(count)]
        async with aclosing(self._pieces()) as pieces:
            async for number, piece in pieces:
                texts[number] += piece.text
                reasons[number] = piece.finish_reason or reasons[number]
                logprobs[number] += piece.logprobs
        choices = [
            choice_of(number, texts[number], self._logprobs(logprobs[number], 0), reasons[number])
            for number in range(count)
        ]
        return {**self._head, "choices": choices, "usage": self._usage.describe()}

    def _pieces(self) -> AsyncGenerator[tuple[int, Piece], None]:
        """The pieces of all results, with the number of their result; of as many prompts at one time as a batch has rows for."""
        streams = [self._pieces_of(i) for i in range(len(self._request.prompts))]
        return merged(streams, max(1, self._generation.options.rows // self._request.count))

    async def _pieces_of(self, i: int) -> AsyncGenerator[tuple[int, Piece], None]:
        """The pieces of the results of a prompt."""
        request = self._request
        if request.echoes[i]:
            for number in range(request.count):
                yield i * request.count + number, Piece(request.echoes[i])
        async with aclosing(self._generation.stream(request.prompts[i], request.settings)) as pieces:
            async for piece in pieces:
                self._usage.generated += len(piece.tokens)
                yield i * request.count + piece.result, piece

    def _logprobs(self, items: Any, offset: int) -> dict[str, list[Any]] | None:
        if self._request.settings.get("logprobs") is None or self._tokenizer is None:
            return None
        return completion_logprobs(items, self._tokenizer, offset)


def choice_of(number: int, text: str, logprobs: object, reason: str | None) -> dict[str, object]:
    return {"text": text, "index": number, "logprobs": logprobs, "finish_reason": reason}
