"""The numbers that a decoder is fed beside tokens and caches: masks, positions and lengths, of rows of any lengths."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from sardonyx._src.generate.decoder.roles import Role
from sardonyx._src.ir import Array

# Where the tokens of a short row are in caches that have the places of the longest row.
Alignment: TypeAlias = Literal["start", "end"]


def run_numbers(lengths: Array, new: int, alignment: Alignment = "start") -> dict[Role, Array]:
    """The values of a run by role, before they take the element types and ranks of inputs.

    lengths: [rows], the tokens that each row has read.
    new: the tokens of each row that the run reads.
    alignment: "start": the tokens of a row follow each other from the first place, and lengths are those of the row; "end":
        padding is before them, lengths count it, and only masks and positions tell it from tokens.
    """
    size = int(lengths.max())
    places = np.arange(size + new)
    positions = lengths[:, None] + np.arange(new)
    if alignment == "start":
        mask, before = places < (lengths + new)[:, None], lengths
    else:
        mask, before = places >= (size - lengths)[:, None], np.full_like(lengths, size)
    return {
        "mask": mask.astype(np.int64),
        "positions": positions,
        "new_positions": places[size:],
        "past_length": before,
        "total_length": before + new,
        "has_past": np.array([size > 0]),
    }
