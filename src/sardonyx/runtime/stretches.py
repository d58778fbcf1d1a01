"""A tape in stretches that are soon over: between two of them Python handles signals, so that Ctrl-C ends a long run.

A step is never interrupted, however long it takes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

STRETCH = 20_000_000  # nominal nanoseconds of a thread, of which waking workers anew is less than a hundredth
MOST_THREADS = 16  # that count: steps that one thread does alone take as much longer as there are others


def stops(weights: NDArray[np.int64], threads: int) -> tuple[int, ...]:
    """Up to which record each stretch goes, for the nominal nanoseconds of all records; the last one is their number."""
    count = len(weights)
    limit = STRETCH * min(threads, MOST_THREADS)
    turns = np.minimum(weights, limit).cumsum() // limit
    if not count or not turns[-1]:
        return (count,)
    ends = np.flatnonzero(np.diff(turns)) + 2  # behind the record with which another turn begins
    return tuple(sorted({*ends.tolist(), *([1] if turns[0] else []), count}))
