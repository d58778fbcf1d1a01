"""Guard against stack overflow on deeply nested graphs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sardonyx._src.errors import LimitError


@contextmanager
def limit_nesting() -> Iterator[None]:
    """Converts a RecursionError in the block, caused by deeply nested graphs, to LimitError."""
    try:
        yield
    except RecursionError:
        what = "functions or graphs are nested deeper than Python's recursion limit allows"
        raise LimitError(what, limit="sys.setrecursionlimit") from None
