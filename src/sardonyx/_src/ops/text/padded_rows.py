"""Rows of strings of several lengths as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from sardonyx._src.ir import Array
from sardonyx._src.ops.ml.lookup import string_vector


def pad_rows(rows: Sequence[list[str]], width: int, padding: str) -> Array:
    """A matrix [rows, width] of strings: each row, of at most `width` strings, followed by `padding`."""
    padded = [row if len(row) == width else row + [padding] * (width - len(row)) for row in rows]
    return string_vector(list(chain.from_iterable(padded))).reshape(len(rows), width)
