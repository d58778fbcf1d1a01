"""Speculative decoding: drafts of tokens that probably come next, which a decoder reads together and keeps as far as it chooses the same."""

from __future__ import annotations

from typing import Protocol

from sardonyx._src.dataclass import dataclass
from sardonyx._src.generate.choice.settings import Settings
from sardonyx._src.ir import Array


class Draft(Protocol):
    """Proposes tokens.  What it proposes changes the speed of a generation, never its tokens."""

    def propose(self, prompt: Array, generated: Array, count: int, settings: Settings) -> Array:
        """At most `count` tokens that may come next, [length] int64.

        prompt, generated: the tokens so far, [length].
        """


@dataclass(slots=True)
class DraftStats:
    """How many tokens drafts proposed, and how many of them were chosen."""

    drafted: int = 0
    accepted: int = 0

    @property
    def acceptance(self) -> float:
        """The share of the proposed tokens that were chosen; 0 if none was proposed."""
        return self.accepted / self.drafted if self.drafted else 0.0
