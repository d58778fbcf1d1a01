"""Aggregation of the votes of leaves: sums, averages, minima or maxima.

Spec: attribute `aggregate_function`.  An average is that of all trees, also of those that do not vote for a target; a
target without any vote has 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ops.ml.forest import MAX_CHUNK_PAIRS, Forest, Ints
from sardonyx._src.ops.ml.post_transforms import Scores

AGGREGATE_FUNCTIONS = ("AVERAGE", "SUM", "MIN", "MAX")


def aggregate(forest: Forest, leaves: Ints, targets: int, function: str) -> tuple[Scores, NDArray[np.bool_]]:
    """leaves: [N, trees]; results: the aggregated votes and whether there is any, [N, targets] both."""
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
    """Adds the votes of some rows, [n, trees], to their totals, [n, targets]."""
    rows, votes = votes_of(forest, leaves)
    place = rows * totals.shape[1] + forest.vote_target[votes]
    weight = forest.vote_weight[votes]
    voted.reshape(-1)[place] = True
    flat = totals.reshape(-1)
    if function in ("SUM", "AVERAGE"):
        flat += np.bincount(place, weight, minlength=flat.size)
        return
    flat[place] = np.inf if function == "MIN" else -np.inf
    (np.minimum if function == "MIN" else np.maximum).at(flat, place, weight)


def votes_of(forest: Forest, leaves: Ints) -> tuple[Ints, Ints]:
    """Every vote of the leaves with the row that it is for: [votes] both."""
    first = forest.starts[leaves].reshape(-1)
    counts = forest.starts[leaves + 1].reshape(-1) - first
    rows = np.repeat(np.arange(len(leaves)), leaves.shape[1])
    ends = np.cumsum(counts)
    votes = np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + counts, counts)
    return np.repeat(rows, counts), votes
