"""Aggregation of the votes of leaves: sums, averages, minima or maxima.

Spec: attribute `aggregate_function`.  An average is over all trees, including those that do not vote for the target; a
target without a vote has 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ops.ml.forest import MAX_CHUNK_PAIRS, Forest, Ints
from sardonyx._src.ops.ml.post_transforms import Scores

AGGREGATE_FUNCTIONS = ("AVERAGE", "SUM", "MIN", "MAX")


def aggregate(forest: Forest, leaves: Ints, targets: int, function: str) -> tuple[Scores, NDArray[np.bool_]]:
    """The aggregated votes, and whether there is any vote, both [N, targets]; leaves: [N, trees]."""
    if function not in AGGREGATE_FUNCTIONS:
        raise EvaluationError(
            f"aggregate_function must be one of {', '.join(AGGREGATE_FUNCTIONS)}; got {function!r}"
        )
    totals = np.zeros((len(leaves), targets))
    voted = np.zeros((len(leaves), targets), np.bool_)
    step = max(1, MAX_CHUNK_PAIRS // max(1, leaves.shape[1]))
    for start in range(0, len(leaves), step):
        chunk = slice(start, start + step)
        add_votes(forest, leaves[chunk], totals[chunk], voted[chunk], function)
    if function == "AVERAGE":
        totals /= max(1, leaves.shape[1])
    return totals, voted


def add_votes(forest: Forest, leaves: Ints, totals: Scores, voted: NDArray[np.bool_], function: str) -> None:
    """Add the votes of the leaves of some rows, [n, trees], to `totals`, [n, targets], and record them in `voted`."""
    rows, votes = votes_of(forest, leaves)
    position = rows * totals.shape[1] + forest.vote_target[votes]
    weight = forest.vote_weight[votes]
    voted.reshape(-1)[position] = True
    flat = totals.reshape(-1)
    if function in ("SUM", "AVERAGE"):
        flat += np.bincount(position, weight, minlength=flat.size)
        return
    flat[position] = np.inf if function == "MIN" else -np.inf
    (np.minimum if function == "MIN" else np.maximum).at(flat, position, weight)


def votes_of(forest: Forest, leaves: Ints) -> tuple[Ints, Ints]:
    """The row and the number of every vote of the leaves, both [votes]."""
    first = forest.starts[leaves].reshape(-1)
    counts = forest.starts[leaves + 1].reshape(-1) - first
    rows = np.repeat(np.arange(len(leaves)), leaves.shape[1])
    ends = np.cumsum(counts)
    votes = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + counts, counts)
    return np.repeat(rows, counts), votes
