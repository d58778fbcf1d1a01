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
    separator: the one separator at which texts are split, a character of ASCII; "" if no separator is in ASCII
    ascii_table: a table for `str.translate` from the other separators in ASCII to `separator`
    others: all separators except `separator`; None if there are too many to replace one by one, or `MARK` is one
    """

    pattern: re.Pattern[str]
    separator: str
    ascii_table: Mapping[int, str]
    others: str | None

    def split(self, texts: Sequence[str]) -> list[list[str]]:
        """The tokens of each text."""
        joined = MARK.join(texts)
        can_translate = self.separator and (joined.isascii() or self.others is not None)
        has_marks = joined.count(MARK) != len(texts) - 1  # where a text ends would not be known
        if not can_translate or has_marks:
            return list(map(self.pattern.findall, texts))
        joined, separator = self.replace_separators(joined), self.separator
        rows = [text.split(separator) for text in joined.split(MARK)]
        return rows if all(map(all, rows)) else [list(filter(None, row)) for row in rows]

    def replace_separators(self, joined: str) -> str:
        """Replace every separator by `separator`."""
        if joined.isascii():
            return joined.translate(self.ascii_table) if self.ascii_table else joined
        for other in self.others or "":
            joined = joined.replace(other, self.separator)
        return joined


def token_runs(tokens: Ranges) -> TokenRuns:
    """The splitter whose tokens are the runs of these characters."""
    separators = complement(tokens)
    in_ascii = [chr(c) for first, last in separators for c in range(first, min(last + 1, ASCII))]
    in_ascii = [c for c in in_ascii if c != MARK]  # it separates texts
    separator = in_ascii[0] if in_ascii else ""
    others: str | None = None
    count = sum(last + 1 - first for first, last in separators)
    has_mark = bool(separators) and separators[0][0] == ord(MARK)
    if count <= MAX_REPLACED and not has_mark:
        every = [chr(c) for first, last in separators for c in range(first, last + 1)]
        others = "".join(c for c in every if c != separator)
    ascii_table = {ord(c): separator for c in in_ascii[1:]}
    return TokenRuns(ranges_pattern(tokens), separator, ascii_table, others)


@lru_cache(maxsize=64)
def runs_of_expression(expression: str) -> TokenRuns | None:
    """The splitter whose tokens are the matches of an expression; None if these are not the longest runs of some characters.

    Raises what `compile_expression` raises.
    """
    ranges = run_ranges(expression)
    return token_runs(ranges) if ranges else None


@lru_cache(maxsize=64)
def runs_between(separators: tuple[str, ...]) -> TokenRuns | None:
    """The splitter at the matches of these expressions; None unless each matches single characters, or runs of them, only.

    Tokens are runs of all other characters: None, too, if there are none.
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
