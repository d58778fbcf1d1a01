"""Chat completions: the next messages of a conversation, at once or as events."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from sardonyx._src.generate.results import Piece
from sardonyx._src.generate.text.tokenizer import Tokenizer
from sardonyx._src.serve.models.language.generation import TextGeneration
from sardonyx._src.serve.openai.chat_request import ChatRequest
from sardonyx._src.serve.openai.logprobs import chat_logprobs
from sardonyx._src.serve.openai.tool_calls import Delta, add_delta, delta_reader
from sardonyx._src.serve.openai.usage import Usage


class ChatResult:
    """One message while it is generated."""

    def __init__(self, request: ChatRequest, tokenizer: Tokenizer) -> None:
        self._request, self._tokenizer = request, tokenizer
        self._reader = delta_reader(request.tools)

    def choices(self, piece: Piece) -> list[dict[str, Any]]:
        """What a piece adds: changes of the message, logarithms with the first of them, the reason of the end with the last."""
        deltas: list[Delta] = self._reader.add(piece.text)
        if piece.finish_reason is not None:
            deltas += [*self._reader.end(), {}]
        logprobs = None
        if self._request.has_logprobs and piece.logprobs:
            entries = chat_logprobs(piece.logprobs, self._tokenizer)
            logprobs = {"content": entries, "refusal": None}
            deltas = deltas if deltas and deltas[0] else [{"content": ""}, *deltas]
        choices: list[dict[str, Any]] = [
            {"index": piece.result, "delta": delta, "logprobs": None, "finish_reason": None}
            for delta in deltas
        ]
        if choices:
            choices[0]["logprobs"] = logprobs
        if piece.finish_reason is not None:
            is_call = self._reader.calls and piece.finish_reason == "stop"
            choices[-1]["finish_reason"] = "tool_calls" if is_call else piece.finish_reason
        return choices


class ChatCompletion:
    """The response to a request."""

    def __init__(self, model: str, generation: TextGeneration, request: ChatRequest) -> None:
        tokenizer = generation.generator.tokenizer
        assert tokenizer is not None, "a conversation has been encoded"
        self._generation, self._request = generation, request
        self._results = [ChatResult(request, tokenizer) for _ in range(request.settings.get("n", 1))]
        self._usage = Usage(len(request.prompt))
        self._head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "created": int(time.time()), "model": model}

    async def events(self) -> AsyncGenerator[object, None]:
        """The chunks of a stream."""
        usage = {"usage": None} if self._request.include_usage else {}
        head = {**self._head, "object": "chat.completion.chunk", **usage}
        is_begun = False
        async with aclosing(self._choices()) as choices:
            async for choice in choices:
                if not is_begun:
                    is_begun = True
                    for number in range(len(self._results)):
                        yield {**head, "choices": [first_choice(number)]}
                yield {**head, "choices": [choice]}
        if self._request.include_usage:
            yield {**head, "choices": [], "usage": self._usage.describe()}

    async def response(self) -> dict[str, object]:
        """The whole response."""
        messages: list[dict[str, Any]] = [
            {"role": "assistant", "content": None, "refusal": None} for _ in self._results
        ]
        logprobs: list[list[Any]] = [[] for _ in self._results]
        reasons: list[str | None] = [None for _ in self._results]
        async with aclosing(self._choices()) as choices:
            async for choice in choices:
                number = choice["index"]
                add_delta(messages[number], choice["delta"])
                reasons[number] = choice["finish_reason"] or reasons[number]
                if choice["logprobs"] is not None:
                    logprobs[number] += choice["logprobs"]["content"]
        has_logprobs = self._request.has_logprobs
        return {
            **self._head,
            "object": "chat.completion",
            "choices": [
                {
                    "index": number,
                    "message": complete_message(message),
                    "logprobs": {"content": logprobs[number], "refusal": None} if has_logprobs else None,
                    "finish_reason": reasons[number],
                }
                for number, message in enumerate(messages)
            ],
            "usage": self._usage.describe(),
        }

    async def _choices(self) -> AsyncGenerator[dict[str, Any], None]:
        async with aclosing(self._generation.stream(self._request.prompt, self._request.settings)) as pieces:
            async for piece in pieces:
                self._usage.generated += len(piece.tokens)
                for choice in self._results[piece.result].choices(piece):
                    yield choice


def first_choice(number: int) -> dict[str, object]:
    """The begin of a message in a stream."""
    delta = {"role": "assistant", "content": "", "refusal": None}
    return {"index": number, "delta": delta, "logprobs": None, "finish_reason": None}


def complete_message(message: dict[str, Any]) -> dict[str, Any]:
    """A message with a text, unless it calls tools alone."""
    return message if message.get("tool_calls") else {**message, "content": message["content"] or ""}
