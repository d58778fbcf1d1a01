"""Strings split into tokens that are the longest runs of some characters; all other characters separate tokens.

All texts are joined to one string, so that they are split in a few passes over memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ops.text.re2.characters import Ranges, complement, normal
from sardonyx._src.ops.text.re2.runs import ranges_pattern, run_ranges, separating_ranges

MARK = "\0"  # separates joined texts
ASCII = 128  # the number of characters of ASCII
MAX_REPLACED = 16  # the largest number of separators that are replaced one by one in texts that are not ASCII


@dataclass(frozen=True, slots=True)
class TokenRuns:
    """Splits texts into tokens.

    pattern: matches a token
    separator: a character of ASCII that separates tokens; "" if there is none
    spaces: a table for `str.translate` from the other separators in ASCII to `separator`
    others: all separators except `separator`; None if there are too many, or `MARK` is one
    """

    pattern: re.Pattern[str]
    separator: str
    spaces: Mapping[int, str]
    others: str | None

    def split(self, texts: Sequence[str]) -> list[list[str]]:
        """The tokens of each text."""
        joined = MARK.join(texts)
        can_translate = self.separator and (joined.isascii() or self.others is not None)
        if not can_translate or joined.count(MARK) != len(texts) - 1:  # texts that contain marks
            return list(map(self.pattern.findall, texts))
        joined, separator = self.replace_separators(joined), self.separator
        rows = [text.split(separator) for text in joined.split(MARK)]
        return rows if all(map(all, rows)) else [list(filter(None, row)) for row in rows]

    def replace_separators(self, joined: str) -> str:
        """Replace every separator by `separator`."""
        if joined.isascii():
            return joined.translate(self.spaces) if self.spaces else joined
        for other in self.others or "":
            joined = joined.replace(other, self.separator)
        return joined


def token_runs(tokens: Ranges) -> TokenRuns:
    """The splitter whose tokens are the runs of these characters."""
    separators = complement(tokens)
    small = [chr(c) for first, last in separators for c in range(first, min(last + 1, ASCII)) if c]
    count = sum(last + 1 - first for first, last in separators)
    separator, is_few = small[0] if small else "", count <= MAX_REPLACED
    every = [chr(c) for first, last in separators for c in range(first, last + 1)] if is_few else []
    has_mark = bool(separators) and separators[0][0] == 0
    others = "".join(c for c in every if c != separator) if is_few and not has_mark else None
    spaces = {ord(c): separator for c in small[1:]}
    return TokenRuns(ranges_pattern(tokens), separator, spaces, others)


@lru_cache(maxsize=64)
def runs_of_expression(expression: str) -> TokenRuns | None:
    """The splitter whose tokens are the matches of an expression; None if they are not the longest runs of some characters.

    Raises what `compile_expression` raises.
    """
    ranges = run_ranges(expression)
    return token_runs(ranges) if ranges else None


@lru_cache(maxsize=64)
def runs_between(separators: tuple[str, ...]) -> TokenRuns | None:
    """The splitter at the matches of all separators; None if one matches more than single characters and runs of them.

    Raises what `compile_expression` raises.
    """
    ranges: list[tuple[int, int]] = []
    for separator in separators:
        single = separating_ranges(separator)
        if single is None:
            return None
        ranges += single
    tokens = complement(normal(ranges))
    return token_runs(tokens) if tokens else None
