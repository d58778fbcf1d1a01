"""Progress and speed of a generation, on standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sardonyx._src.cli.output.progress import show_bar
from sardonyx._src.generate.drafts.draft import DraftStats
from sardonyx._src.generate.results import Piece

MIN_TOKENS = 256  # of a prompt that has a bar while it is read


class Speed:
    """Times of a generation.

    prompt_tokens: how many tokens the prompt has.
    drafts: counts of a generator that has drafts.
    """

    def __init__(self, prompt_tokens: int, drafts: DraftStats | None = None) -> None:
        self.prompt_tokens, self.tokens, self.drafts = prompt_tokens, 0, drafts
        self.started = time.perf_counter()
        self.first: float | None = None
        self.last = self.started

    def watch(self, pieces: Iterator[Piece]) -> Iterator[Piece]:
        """The pieces, counted and timed."""
        for piece in pieces:
            self.last = time.perf_counter()
            self.first = self.first if self.first is not None else self.last
            self.tokens += len(piece.tokens)
            yield piece

    @property
    def prompt_seconds(self) -> float:
        """Seconds until the first token."""
        return (self.first if self.first is not None else self.last) - self.started

    @property
    def seconds(self) -> float:
        """Seconds of the tokens after the first one."""
        return self.last - self.started - self.prompt_seconds

    def facts(self) -> dict[str, float | int]:
        """For `--json`."""
        drafts = {} if self.drafts is None else {"acceptance": self.drafts.acceptance}
        return drafts | {
            "generated_tokens": self.tokens,
            "prompt_seconds": self.prompt_seconds,
            "seconds": self.prompt_seconds + self.seconds,
        }

    def describe(self) -> str:
        """One line: tokens and times of the prompt and of the result."""
        prompt = f"{self.prompt_tokens} tokens read in {self.prompt_seconds:.2f} s"
        generated = f"{self.tokens} generated"
        if self.tokens > 1 and self.seconds > 0:
            generated += f" in {self.seconds:.2f} s ({(self.tokens - 1) / self.seconds:.1f} a second)"
        drafts = "" if self.drafts is None else f", {self.drafts.acceptance:.0%} of the drafts accepted"
        return f"{prompt}, {generated}{drafts}"


@contextmanager
def reading_progress(tokens: int, *, is_quiet: bool) -> Iterator[Callable[[int], None] | None]:
    """Yields a function to call with the tokens of a prompt that have been read; a bar shows them until the last one."""
    if is_quiet or tokens < MIN_TOKENS or not sys.stderr.isatty():
        yield None
        return
    with show_bar(tokens, "reading the prompt", None) as advance:

        def count(read: int) -> None:
            for _ in range(read):
                advance()

        yield count
