"""What the leaves of trees say together: sums, averages, minima or maxima of their votes.

Spec: attribute `aggregate_function`.  An average is that of all trees, also of those that do not vote for a target; a
target without any vote has 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ops.ml.forest import CHUNK, Forest, Ints
from sardonyx._src.ops.ml.post_transforms import Scores

FUNCTIONS = ("AVERAGE", "SUM", "MIN", "MAX")


def aggregated(forest: Forest, leaves: Ints, targets: int, function: str) -> tuple[Scores, NDArray[np.bool_]]:
    """leaves: [N, trees]; results: the votes taken together and whether there is one, [N, targets] both."""
    if function not in FUNCTIONS:
        raise EvaluationError(f"aggregate_function is {function!r}, where {', '.join(FUNCTIONS)} are known")
    totals = np.zeros((len(leaves), targets))
    voted = np.zeros((len(leaves), targets), np.bool_)
    step = max(1, CHUNK // max(1, leaves.shape[1]))
    for start in range(0, len(leaves), step):
        chunk = slice(start, start + step)
        collect(forest, leaves[chunk], totals[chunk], voted[chunk], function)
    if function == "AVERAGE":
        totals /= max(1, leaves.shape[1])
    return totals, voted


def collect(forest: Forest, leaves: Ints, totals: Scores, voted: NDArray[np.bool_], function: str) -> None:
    """Adds the votes of some rows, [n, trees], to what these rows have, [n, targets]."""
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
    behind = np.cumsum(counts)
    votes = np.arange(behind[-1] if len(behind) else 0) + np.repeat(first - behind + counts, counts)
    return np.repeat(rows, counts), votes
