"""Tables of numbers and strings that fit the width of a terminal: strings are shortened if necessary, numbers never."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence

GAP = "  "
MIN_TEXT_WIDTH = 12  # characters to which the strings of a column are shortened at most
ELLIPSIS = "..."


def line_width() -> int | None:
    """The width of the terminal at standard output, or COLUMNS of the environment; None if lines may have any length."""
    if not sys.stdout.isatty() and not os.environ.get("COLUMNS"):
        return None
    return shutil.get_terminal_size().columns


def format_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], numbers: int, width: int | None
) -> Iterator[str]:
    """The lines of a table; its first `numbers` columns are numbers, flush right, and the others are strings.

    If the table is wider than `width`, strings are shortened, those of the last column first.
    """
    table = [headers, *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(headers))]
    shorten(widths, numbers, width)
    for row in table:
        cells = [
            cell.rjust(widths[i]) if i < numbers else shortened(cell, widths[i]).ljust(widths[i])
            for i, cell in enumerate(row)
        ]
        yield GAP.join(cells).rstrip()


def shorten(widths: list[int], numbers: int, width: int | None) -> None:
    """Reduces the widths of columns of strings until the sum fits, or all have `MIN_TEXT_WIDTH`."""
    if width is None:
        return
    for i in range(len(widths) - 1, numbers - 1, -1):
        excess = sum(widths) + len(GAP) * (len(widths) - 1) - width
        widths[i] -= max(0, min(excess, widths[i] - MIN_TEXT_WIDTH))


def shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - len(ELLIPSIS)] + ELLIPSIS
