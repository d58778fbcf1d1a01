"""Levels of trees, and the leaves below each split from left to right."""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.kernels.trees.splits import LEFT, RIGHT, Splits
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ops.ml.forest import Ints

MAX_LEVELS = 256


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """levels: the splits of each depth.  tree: [splits], -1 for a split that no root leads to.

    first_leaf: [splits], the position of the first leaf below a split among those of its tree.  left_leaves: [splits], the
    number of leaves below its left branch.  tree_starts: [trees + 1], the sums of the leaves of the trees before each.
    steps: the sum of the depths of all leaves, each over the number of leaves of its tree: what a walk of random rows takes.
    """

    levels: tuple[Ints, ...]
    tree: Ints
    first_leaf: Ints
    left_leaves: Ints
    tree_starts: Ints
    steps: float


def levels_of(splits: Splits) -> Levels | None:
    """The levels; None if a split has several parents, or the trees are too deep to be worth it."""
    roots = np.flatnonzero(splits.roots >= 0)
    tree, level = np.full(len(splits), -1), splits.roots[roots]
    owner, visited = roots, 0
    levels: list[Ints] = []
    while len(level):
        visited += len(level)
        if visited > len(splits) or len(levels) == MAX_LEVELS:
            return None
        if (tree[level] >= 0).any():
            return None
        tree[level] = owner
        levels.append(level)
        below = splits.children[level].reshape(-1)
        owner = np.repeat(owner, 2)[below >= 0]
        level = below[below >= 0]
        if len(np.unique(level)) < len(level):
            return None
    leaves = count_leaves(splits, levels)
    left = branch_leaves(splits, leaves, LEFT)
    first = np.zeros(len(splits), np.int64)
    for level in levels:
        for side in (LEFT, RIGHT):
            child = splits.children[level, side]
            inner = child >= 0
            first[child[inner]] = (first[level] + (left[level] if side else 0))[inner]
    totals = np.ones(len(splits.roots), np.int64)
    totals[roots] = leaves[splits.roots[roots]]
    starts = np.concatenate([[0], np.cumsum(totals)])
    return Levels(tuple(levels), tree, first, left, starts, mean_steps(splits, levels, tree, totals))


def count_leaves(splits: Splits, levels: list[Ints]) -> Ints:
    """The number of leaves below each split."""
    leaves = np.zeros(len(splits), np.int64)
    for level in reversed(levels):
        below = splits.children[level]
        leaves[level] = np.where(below < 0, 1, leaves[np.maximum(below, 0)]).sum(axis=1)
    return leaves


def branch_leaves(splits: Splits, leaves: Ints, side: int) -> Ints:
    """The number of leaves below a branch of each split."""
    child = splits.children[:, side]
    return np.where(child < 0, 1, leaves[np.maximum(child, 0)]) if len(splits) else leaves


def mean_steps(splits: Splits, levels: list[Ints], tree: Ints, totals: Ints) -> float:
    """The sum over all trees of the mean depth of their leaves."""
    steps = 0.0
    for depth, level in enumerate(levels, 1):
        leaves = (splits.children[level] < 0).sum(axis=1)
        steps += float((leaves * depth / totals[tree[level]]).sum())
    return steps
