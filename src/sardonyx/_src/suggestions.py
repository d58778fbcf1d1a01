"""Suggestions for misspelled names, appended to error messages."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

MAX_CANDIDATES = 10_000  # names that a misspelled one is compared with
MAX_NAME_LENGTH = 200  # longest name that is compared: the time grows with the product of both lengths
MAX_LISTED_NAMES = 10


def close_names(name: str, known: Iterable[str], count: int = 1) -> list[str]:
    """The known names most similar to `name`, at most `count`, the closest first."""
    from difflib import get_close_matches  # loads slowly, and only errors need it

    if len(name) > MAX_NAME_LENGTH:
        return []
    candidates = [n for n in islice(known, MAX_CANDIDATES) if 0 < len(n) <= MAX_NAME_LENGTH]
    return get_close_matches(name, candidates, count)


def did_you_mean(name: str, known: Iterable[str], count: int = 1) -> str:
    """The text "; did you mean 'x' or 'y'?" if known names are close, else ""."""
    close = close_names(name, known, count)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def suggest(name: str, known: Iterable[str], what: str) -> str:
    """`did_you_mean`, or else the text "; the <what> are 'x', 'y' and 3 more", or "; there are no <what>"."""
    names = list(filter(None, known))
    if close := did_you_mean(name, names):
        return close
    if not names:
        return f"; there are no {what}"
    rest = len(names) - MAX_LISTED_NAMES
    more = f" and {rest} more" if rest > 0 else ""
    return f"; the {what} are {', '.join(map(repr, names[:MAX_LISTED_NAMES]))}{more}"
