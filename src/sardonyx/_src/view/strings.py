"""Strings of a document, each stored once."""

from __future__ import annotations


class StringTable:
    """Strings by position; 0 is the empty string."""

    def __init__(self) -> None:
        self.strings = [""]
        self._positions = {"": 0}

    def add(self, text: str) -> int:
        """The position of a string; a new string is added."""
        position = self._positions.get(text)
        if position is None:
            position = self._positions[text] = len(self.strings)
            self.strings.append(text)
        return position
