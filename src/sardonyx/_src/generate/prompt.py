"""The tokens of a prompt: of a text, of a conversation, or of themselves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias, cast

import numpy as np

from sardonyx._src.arguments import items_of
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.generate.text.chat_template import ChatTemplate, Message
from sardonyx._src.generate.text.tokenizer import FILE, Tokenizer

Prompt: TypeAlias = str | Sequence[int] | Sequence[Message]


@dataclass(frozen=True, slots=True)
class PromptCodec:
    """What prompts are encoded with.  vocabulary: the number of tokens that the model knows; None if it does not say it."""

    tokenizer: Tokenizer | None
    chat_template: ChatTemplate | None
    vocabulary: int | None

    def encode(self, prompt: Prompt, *, with_special: bool = True) -> list[int]:
        """The tokens of a prompt; raises InputError for an empty prompt, and for tokens beyond the vocabulary.

        with_special: whether the tokenizer adds those that begin or end a text.
        """
        if isinstance(prompt, str):
            tokens = require_tokenizer(self.tokenizer).encode(prompt, with_special=with_special)
        elif is_conversation(prompt):
            tokens = self.encode_messages(cast("Sequence[Message]", prompt))
        else:
            items = cast("Sequence[int]", items_of("prompt", prompt, (int, np.integer), "tokens"))
            tokens = [int(token) for token in items]
        self.check_tokens("prompt", tokens)
        if not tokens:
            raise InputError("a prompt must have at least one token; got none", name="prompt")
        return tokens

    def check_tokens(self, name: str, tokens: Iterable[int]) -> None:
        """Raises InputError for tokens beyond the vocabulary."""
        size = self.vocabulary
        for token in tokens:
            if token < 0 or (size is not None and token >= size):
                bounds = "at least 0" if size is None else f"in 0 to {size - 1}"
                raise InputError(f"tokens must be {bounds}; got {token}", name=name)

    def encode_messages(self, messages: Sequence[Message]) -> list[int]:
        """The tokens of a conversation, up to where the answer of the model begins."""
        if self.chat_template is None:
            raise InputError(
                "a conversation requires a chat template, which the model's folder does not have: give its Jinja2 source as "
                "chat_template",
                name="prompt",
            )
        text = self.chat_template.prompt(messages)
        return require_tokenizer(self.tokenizer).encode(text, with_special=False)


def require_tokenizer(tokenizer: Tokenizer | None) -> Tokenizer:
    if tokenizer is None:
        raise InputError(
            f"a text requires a tokenizer, and the model has no {FILE} beside it: give its path as tokenizer, or a list of "
            "tokens as the prompt",
            name="prompt",
        )
    return tokenizer


def is_conversation(prompt: object) -> bool:
    return (
        isinstance(prompt, list | tuple)
        and bool(prompt)
        and all(isinstance(item, Mapping) for item in prompt)
    )
