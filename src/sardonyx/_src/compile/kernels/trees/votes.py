"""The votes of leaves as tables.

Weights of -0.0 are stored as 0.0, which sums to the same, so that adding -0.0 to a total is no vote; in a minimum or maximum
NaN is none.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from sardonyx._src.compile.kernels.trees.levels import Levels
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array
from sardonyx._src.ops.ml.forest import Forest, Ints

VoteKind: TypeAlias = Literal["tree", "dense", "sparse"]
Combine: TypeAlias = Literal["add", "min", "max"]
# Of a table of all leaves and targets, times the votes: where leaves are added one by one, or in many lanes at a time.
MAX_DENSE_GROWTH, MAX_DENSE_GROWTH_IN_LANES = 4, 16


@dataclass(frozen=True, slots=True, eq=False)
class VoteTable:
    """The votes of numbered leaves, float32 if all weights are, else float64; the last leaf has none.

    tree: weights [leaves], at most one vote of each leaf; targets [trees], the target of the votes of each tree.
    dense: weights [leaves, targets].
    sparse: weights and targets [votes]; those of leaf n are at starts[n] to starts[n + 1].
    """

    kind: VoteKind
    weights: Array
    targets: Array
    starts: Array


def vote_table(
    forest: Forest,
    leaves: Ints,
    levels: Levels | None,
    trees: int,
    targets: int,
    combine: Combine,
    max_growth: int,
) -> VoteTable:
    """leaves: the leaf of the forest of each number.  trees: their number, with those that pad the last chain.

    max_growth: of a table of all leaves and targets, times the votes.
    """
    counts = np.append(forest.starts[leaves + 1] - forest.starts[leaves], 0)
    starts = np.concatenate([[0], np.cumsum(counts)])
    votes = np.arange(starts[-1]) + np.repeat(np.append(forest.starts[leaves], 0) - starts[:-1], counts)
    target, weight = forest.vote_target[votes], stored_weights(forest.vote_weight[votes])
    none = np.array(-0.0 if combine == "add" else np.nan, weight.dtype)
    owner = np.repeat(np.arange(len(counts)), counts)
    tree_targets = targets_of_trees(owner, target, levels, trees, targets)
    if counts.max(initial=0) <= 1 and tree_targets is not None:
        single = np.full(len(counts), none)
        single[owner] = weight
        return VoteTable("tree", single, tree_targets, np.zeros(1, np.int32))
    places = owner * targets + target
    entries = len(counts) * targets
    if entries <= max_growth * len(votes) and entries < 1 << 31 and len(np.unique(places)) == len(places):
        dense = np.full(len(counts) * targets, none)
        dense[places] = weight
        return VoteTable("dense", dense, np.zeros(1, np.int32), np.zeros(1, np.int32))
    return VoteTable("sparse", padded(weight), padded(target.astype(np.int32)), starts.astype(np.int64))


def padded(array: Array) -> Array:
    """The array, with one element if it is empty."""
    return array if len(array) else np.zeros(1, array.dtype)


def stored_weights(weight: Array) -> Array:
    """The weights without -0.0, as float32 if that is exact."""
    weight = weight + 0.0
    with np.errstate(all="ignore"):
        narrow = weight.astype(np.float32)
    return narrow if np.array_equal(narrow, weight, equal_nan=True) else weight


def targets_of_trees(
    owner: Ints, target: Ints, levels: Levels | None, trees: int, targets: int
) -> Array | None:
    """The target that all votes of each tree have; None if they differ, or several trees may share leaves."""
    result = np.zeros(trees, np.int32)
    if targets == 1:
        return result
    if levels is None:
        return None
    tree = np.searchsorted(levels.tree_starts, owner, side="right") - 1
    result[tree] = target
    return result if (result[tree] == target).all() else None
