"""Prompt lookup: drafts from the text itself, what followed the latest tokens where they occurred before."""

from __future__ import annotations

import numpy as np

from sardonyx._src.generate.choice.settings import Settings
from sardonyx._src.ir import Array

LENGTHS = (4, 3, 2)  # of the runs of tokens that are looked up, the longest first


class LookupDraft:
    """Proposes what followed the latest occurrence of the last tokens, as in code, quotations and tables (Saxena, 2023)."""

    def propose(self, prompt: Array, generated: Array, count: int, settings: Settings) -> Array:
        tokens = np.concatenate([prompt, generated])
        for length in LENGTHS:
            place = latest_occurrence(tokens, length)
            if place is not None:
                return tokens[place + length : place + length + count]
        return tokens[:0]


def latest_occurrence(tokens: Array, length: int) -> int | None:
    """Where the last `length` tokens begin for the last time before the end; None if they do not."""
    if len(tokens) <= length:
        return None
    runs = np.lib.stride_tricks.sliding_window_view(tokens[:-1], length)
    places = np.flatnonzero((runs == tokens[-length:]).all(axis=1))
    return int(places[-1]) if places.size else None
