"""Graphs in graphs: reading and writing them takes Python's stack."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sardonyx._src.errors import LimitError


@contextmanager
def nesting_limited() -> Iterator[None]:
    """Raises LimitError where the graphs inside are nested deeper than the stack allows."""
    try:
        yield
    except RecursionError:
        what = "functions or graphs are nested deeper than Python's own recursion limit allows"
        raise LimitError(what, limit="sys.setrecursionlimit") from None
