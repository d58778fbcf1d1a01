"""Prompts of completions, and texts whose vectors are computed: texts or lists of tokens."""

from __future__ import annotations

from collections.abc import Callable

from sardonyx._src.serve.openai.fields import Fields

MAX_TOKEN = (1 << 31) - 1


def read_prompts(fields: Fields, name: str, encode: Callable[[str], list[int]], most: int) -> list[list[int]]:
    """The tokens of a text, a list of texts, a list of tokens, or a list of such lists; at most `most` of them."""
    value = fields.get(name)
    items = value if isinstance(value, list) and not is_tokens(value) else [value]
    if not items or len(items) > most:
        raise fields.failure(name, f"1 to {most} texts")
    prompts = []
    for item in items:
        if isinstance(item, str):
            prompts.append(encode(item))
        elif isinstance(item, list) and is_tokens(item):
            prompts.append(item)
        else:
            raise fields.failure(name, "a text, a list of texts, a list of tokens or a list of such lists")
    return prompts


def is_tokens(value: list[object]) -> bool:
    return bool(value) and all(type(item) is int and 0 <= item <= MAX_TOKEN for item in value)
