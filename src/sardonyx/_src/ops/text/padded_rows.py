"""Rows of strings of several lengths as a matrix."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.ml.lookup import string_vector


def pad_rows(rows: Sequence[list[str]], width: int, padding: str) -> Array:
    """rows: of at most `width` strings; result: [rows, width], with `padding` after the last string of a row."""
    padded = [row if len(row) == width else row + [padding] * (width - len(row)) for row in rows]
    return string_vector(list(chain.from_iterable(padded))).reshape(len(rows), width)
