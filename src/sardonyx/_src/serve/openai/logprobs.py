"""Logarithms of probabilities, in the forms of chat completions and of completions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sardonyx._src.generate.results import TokenLogprob
from sardonyx._src.generate.text.tokenizer import Tokenizer

LOWEST = -9999.0  # the interface's logarithm of 0
INCOMPLETE = "\ufffd"  # a part of a character, of which JSON has no text


def chat_logprobs(items: Sequence[TokenLogprob], tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """An entry for each token, with the most probable ones at its place."""
    return [
        {
            **describe_token(item.token, item.logprob, tokenizer),
            "top_logprobs": [describe_token(t, logprob, tokenizer) for t, logprob in item.alternatives],
        }
        for item in items
    ]


def describe_token(token: int, logprob: float, tokenizer: Tokenizer) -> dict[str, Any]:
    """bytes: null for a token that is a part of a character."""
    text = tokenizer.token_text(token)
    encoded = None if INCOMPLETE in text else list(text.encode())
    return {"token": text, "logprob": max(logprob, LOWEST), "bytes": encoded}


def completion_logprobs(
    items: Sequence[TokenLogprob], tokenizer: Tokenizer, offset: int
) -> dict[str, list[Any]]:
    """Lists with an element for each token.  offset: the number of characters before the first one."""
    texts = [tokenizer.token_text(item.token) for item in items]
    offsets = [offset + sum(map(len, texts[:i])) for i in range(len(texts))]
    return {
        "tokens": texts,
        "token_logprobs": [max(item.logprob, LOWEST) for item in items],
        "top_logprobs": [
            {tokenizer.token_text(t): max(logprob, LOWEST) for t, logprob in item.alternatives}
            for item in items
        ],
        "text_offset": offsets,
    }
