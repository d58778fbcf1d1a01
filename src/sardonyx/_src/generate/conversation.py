"""A conversation with a language model, turn by turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Unpack

from sardonyx._src.generate.choice.settings import SettingsKeywords
from sardonyx._src.generate.generator import Generator
from sardonyx._src.generate.results import Piece
from sardonyx._src.generate.text.chat_template import Message


class Conversation:
    """The messages of a conversation.

    generator: a model with a chat template.
    system: the message before the first one; "" for none.
    """

    def __init__(self, generator: Generator, system: str = "") -> None:
        self.generator, self.system = generator, system
        self.turns: list[tuple[str, str]] = []  # messages of the user, with their answers

    @property
    def messages(self) -> list[Message]:
        """The messages so far, as the chat template takes them."""
        messages: list[Message] = [{"role": "system", "content": self.system}] if self.system else []
        for question, answer in self.turns:
            messages += [{"role": "user", "content": question}, {"role": "assistant", "content": answer}]
        return messages

    def ask(
        self,
        question: str,
        *,
        advance: Callable[[int], None] | None = None,
        **settings: Unpack[SettingsKeywords],
    ) -> Iterator[Piece]:
        """The pieces of the answer.  The turn is part of the conversation when they end, or are closed early."""
        prompt = [*self.messages, {"role": "user", "content": question}]
        return self._record(question, self.generator.stream(prompt, advance=advance, **settings))

    def _record(self, question: str, pieces: Iterator[Piece]) -> Iterator[Piece]:
        answer = ""
        try:
            for piece in pieces:
                answer += piece.text
                yield piece
        finally:
            self.turns.append((question, answer))
