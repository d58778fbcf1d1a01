"""Bad rows: the rows of a batch that cannot be fed or on which the model fails, each with the reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from sardonyx._src.tables.arrow import pa, pc

T = TypeVar("T")


class BadRows(Exception):
    """Rows of a batch that cannot be scored, each with the reason; at least one."""

    def __init__(self, reasons: Mapping[int, str]) -> None:
        self.reasons = reasons
        super().__init__(next(iter(reasons.values())))


def refuse_rows(mask: pa.Array, reason: str) -> None:
    """Raises BadRows for the rows at which a mask is true, if there are any."""
    rows = pc.indices_nonzero(mask).to_pylist()
    if rows:
        raise BadRows(dict.fromkeys(rows, reason))


def convert_rows(column: pa.Array, name: str, conversion: Callable[[pa.Array], T]) -> T:
    """A column after a conversion, element by element; raises BadRows for the rows whose element does not convert."""

    def failure_of(first: int, count: int) -> str | None:
        try:
            conversion(column.slice(first, count))
        except pa.ArrowInvalid as error:
            return f"column {name!r}: {error}"
        return None

    try:
        return conversion(column)
    except pa.ArrowInvalid:
        raise BadRows(find_failures(len(column), failure_of)) from None


def find_failures(rows: int, reason_of: Callable[[int, int], str | None]) -> dict[int, str]:
    """The rows that fail by themselves, with their reasons; ranges of rows that fail are halved until single rows are found.

    reason_of: returns why `count` rows from `first` on fail, None if they do not.
    The result is empty if rows fail only together.
    """
    failures: dict[int, str] = {}
    ranges = [(0, rows)]
    while ranges:
        first, count = ranges.pop()
        reason = reason_of(first, count)
        if reason is None:
            continue
        if count == 1:
            failures[first] = reason
        else:
            half = count // 2
            ranges += [(first + half, count - half), (first, half)]
    return failures
