"""Tables of numbers and texts that fit the width of a terminal: texts are shortened, numbers never."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence

GAP = "  "
MIN_TEXT_WIDTH = 12  # to which the texts of a table are shortened at most
ELLIPSIS = "..."


def line_width() -> int | None:
    """The columns of a terminal at standard output, or of COLUMNS; None elsewhere, where lines may have any length."""
    if not sys.stdout.isatty() and not os.environ.get("COLUMNS"):
        return None
    return shutil.get_terminal_size().columns


def format_table(
    headers: Sequence[str], rows: Sequence[Sequence[str]], numbers: int, width: int | None
) -> Iterator[str]:
    """The lines of a table whose first `numbers` columns are numbers, flush right, and whose others are texts.

    Of a table wider than `width`, the texts are shortened, those of the last column first.
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
    """Reduces the widths of text columns until the sum fits, or all are as short as they may be."""
    if width is None:
        return
    for i in range(len(widths) - 1, numbers - 1, -1):
        excess = sum(widths) + len(GAP) * (len(widths) - 1) - width
        widths[i] -= max(0, min(excess, widths[i] - MIN_TEXT_WIDTH))


def shortened(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - len(ELLIPSIS)] + ELLIPSIS
