"""The numbers that a decoder is fed beside tokens and caches: masks, positions and lengths, of rows of any lengths."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from sardonyx._src.generate.decoder.roles import Role
from sardonyx._src.ir import Array

# Where the tokens of a short row are in caches that have the places of the longest row.
Alignment: TypeAlias = Literal["start", "end"]


def run_number(role: Role, lengths: Array, new: int, alignment: Alignment = "start") -> Array:
    """The value of a run for a role other than the tokens, before it takes the element type and rank of an input.

    lengths: [rows], the tokens that each row has read.
    new: the tokens of each row that the run reads.
    alignment: "start": the tokens of a row follow each other from the first place, and lengths are those of the row; "end":
        padding is before them, lengths count it, and only masks and positions tell it from tokens.
    """
    size = longest(lengths)
    if role == "mask":
        return token_mask(lengths, size, new, alignment)
    if role == "positions":
        return lengths[:, None] + np.arange(new)
    if role == "new_positions":
        return np.arange(size, size + new)
    if role == "has_past":
        return np.array([size > 0])
    if role == "past_places":
        return np.zeros(size, np.bool_)
    before = lengths if alignment == "start" else np.full_like(lengths, size)
    assert role in ("past_length", "total_length"), f"{role} is no number of a run"
    return before if role == "past_length" else before + new


def longest(lengths: Array) -> int:
    """The greatest of a few lengths, without the cost of a reduction of NumPy."""
    return int(max(lengths.tolist()))


def token_mask(lengths: Array, size: int, new: int, alignment: Alignment) -> Array:
    """1 where a row has a token, and 0 for padding, [rows, size + new].  size: the greatest of the lengths."""
    if len(lengths) == 1:
        return np.ones((1, size + new), np.int64)
    places = np.arange(size + new)
    is_token = (
        places < (lengths + new)[:, None] if alignment == "start" else places >= (size - lengths)[:, None]
    )
    return is_token.astype(np.int64)
