"""The end of a text at one of several stop texts, before any character of it is given away."""

from __future__ import annotations

from collections.abc import Sequence


class StopTexts:
    """Holds back the end of a growing text as long as a stop text could begin there.

    texts: the stop texts, none of them empty.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = tuple(texts)
        self.held = ""

    def add(self, piece: str) -> tuple[str, bool]:
        """The characters that are certain now, and whether a stop text ends the result; they do not contain it."""
        self.held += piece
        places = [place for text in self.texts if (place := self.held.find(text)) >= 0]
        if places:
            certain, self.held = self.held[: min(places)], ""
            return certain, True
        keep = max((overlap(self.held, text) for text in self.texts), default=0)
        certain, self.held = self.held[: len(self.held) - keep], self.held[len(self.held) - keep :]
        return certain, False

    def rest(self) -> str:
        """What is held back, when no more comes."""
        certain, self.held = self.held, ""
        return certain


def overlap(text: str, stop: str) -> int:
    """The length of the longest end of `text` with which `stop` begins; less than all of `stop`."""
    for length in range(min(len(text), len(stop) - 1), 0, -1):
        if text.endswith(stop[:length]):
            return length
    return 0
