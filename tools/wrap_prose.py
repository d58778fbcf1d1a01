"""Wraps the paragraphs and list items of Markdown pages at 100 columns, and leaves code, tables and headings as they are.

python tools/wrap_prose.py docs/viewing.md ...
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

COLUMNS = 100
ITEM = re.compile(r"( *)(?:[-*+]|\d+\.) +")
MARKUP = re.compile(r"(?:#|\||<|```|!!!|!\[)")  # begins a line that is not prose
# A word: a code span is in one piece, and so is the target of a link with the last word of its text.
WORD = re.compile(r"(?:`[^`]*`|\]\([^)]*\)|[^\s`\]]|\])+")
BEGINS_A_BLOCK = re.compile(r"(?:[-*+]|\d+\.|#+|>|\|.*)$")  # if it came first in a line


@dataclass(frozen=True)
class Block:
    """Consecutive lines of a page.  prose: whether they are one paragraph, or one item of a list."""

    lines: tuple[str, ...]
    prose: bool

    @property
    def words(self) -> int:
        """The number of words, as a reader counts them."""
        return len(" ".join(self.lines).split())


def blocks(text: str) -> Iterator[Block]:
    """The blocks of a page, in order; together they are all of its lines."""
    pending: list[str] = []
    in_code = False
    for line in text.splitlines():
        fence = line.lstrip().startswith("```")
        starts = in_code or fence or not line.strip() or MARKUP.match(line.lstrip()) or ITEM.match(line)
        if pending and starts:
            yield Block(tuple(pending), True)
            pending = []
        in_code ^= fence
        if (
            in_code
            or fence
            or not line.strip()
            or MARKUP.match(line.lstrip())
            or is_indented_code(line, pending)
        ):
            yield Block((line,), False)
        else:
            pending.append(line)
    if pending:
        yield Block(tuple(pending), True)


def is_indented_code(line: str, pending: Sequence[str]) -> bool:
    return not pending and line.startswith("    ") and not ITEM.match(line)


def wrap(block: Block) -> list[str]:
    """The lines of a block of prose, filled; continuations are indented like the text of its first line."""
    if not block.prose:
        return list(block.lines)
    item = ITEM.match(block.lines[0])
    first = item[0] if item else re.match(" *", block.lines[0])[0]  # type: ignore[index]
    words = join_markers(WORD.findall(" ".join((block.lines[0][len(first) :], *block.lines[1:]))))
    lines, line = [], first + words[0]
    for word in words[1:]:
        if len(line) + 1 + len(word) > COLUMNS:
            lines.append(line)
            line = " " * len(first) + word
        else:
            line += " " + word
    return [*lines, line]


def join_markers(words: Sequence[str]) -> list[str]:
    """The words, each that would begin a block joined with the word before it."""
    joined = list(words[:1])
    for word in words[1:]:
        if BEGINS_A_BLOCK.match(word):
            joined[-1] += f" {word}"
        else:
            joined.append(word)
    return joined


def wrap_page(text: str) -> str:
    return "".join(f"{line}\n" for block in blocks(text) for line in wrap(block))


if __name__ == "__main__":
    for name in sys.argv[1:]:
        Path(name).write_text(wrap_page(Path(name).read_text()))
