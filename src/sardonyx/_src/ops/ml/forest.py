"""Decision trees as arrays, and the leaves that rows of features come to.

Spec: TreeEnsemble-5 and its forerunners.  Nodes of all trees have one numbering; a leaf is its own child, so that all
rows can go through all trees level by level.  NaN, a missing value, takes the branch that the node names for it.
Attributes come from files: everything is checked before anything runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array

Ints = NDArray[np.int64]
LEAF = len(
    MODES := (
        "BRANCH_LEQ",
        "BRANCH_LT",
        "BRANCH_GTE",
        "BRANCH_GT",
        "BRANCH_EQ",
        "BRANCH_NEQ",
        "BRANCH_MEMBER",
    )
)
LEQ, LT, GTE, GT, EQ, NEQ, MEMBER = range(LEAF)
CHUNK = 1 << 20  # pairs of a row and a tree that are on their way at once


@dataclass(frozen=True, slots=True)
class Members:
    """The sets of nodes with mode BRANCH_MEMBER, as sorted pairs of a node and the rank of a value among all."""

    values: NDArray[np.float64]  # sorted, each once
    pairs: Ints  # node * len(values) + rank, sorted

    def hold(self, nodes: Ints, x: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether each x is in the set of its node."""
        if not len(self.values):
            return np.zeros(x.shape, np.bool_)
        rank = np.minimum(np.searchsorted(self.values, x), len(self.values) - 1)
        wanted = nodes * len(self.values) + rank
        place = np.minimum(np.searchsorted(self.pairs, wanted), len(self.pairs) - 1)
        return (self.values[rank] == x) & (self.pairs[place] == wanted)


NOBODY = Members(np.zeros(0), np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True)
class Forest:
    """Nodes: [nodes] each; votes: those of node i stand from starts[i] to starts[i + 1]."""

    roots: Ints
    feature: Ints
    threshold: NDArray[np.float64]
    mode: Ints
    missing_true: NDArray[np.bool_]
    on_true: Ints
    on_false: Ints
    starts: Ints  # [nodes + 1]
    vote_target: Ints
    vote_weight: NDArray[np.float64]
    members: Members = NOBODY

    def leaves(self, rows: Array) -> Ints:
        """rows: [N, F], result: [N, trees], the leaf that each row comes to in each tree."""
        features = self.feature[self.mode != LEAF]
        if features.size and not 0 <= features.min() <= features.max() < rows.shape[1]:
            outside = features.min() if features.min() < 0 else features.max()
            raise EvaluationError(f"feature id {outside} lies outside of rows of {rows.shape[1]} features")
        x = rows.astype(np.float64)
        result = np.tile(self.roots, (len(x), 1))
        step = max(1, CHUNK // max(1, len(self.roots)))
        for start in range(0, len(x), step):
            self.descend(x[start : start + step], result[start : start + step])
        return result

    def descend(self, x: NDArray[np.float64], nodes: Ints) -> None:
        """Replaces nodes, [n, trees], by the leaves below them."""
        row, tree = np.nonzero(self.mode[nodes] != LEAF)
        while len(row):
            at = nodes[row, tree]
            value = x[row, self.feature[at]]
            taken = np.where(np.isnan(value), self.missing_true[at], self.holds(at, value))
            below = np.where(taken, self.on_true[at], self.on_false[at])
            nodes[row, tree] = below
            inner = self.mode[below] != LEAF
            row, tree = row[inner], tree[inner]

    def holds(self, nodes: Ints, x: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether the comparison of each node is true of its x."""
        mode, threshold = self.mode[nodes], self.threshold[nodes]
        kinds = np.unique(mode).tolist()
        if len(kinds) == 1 and kinds[0] != MEMBER:
            return compared(kinds[0], x, threshold)
        result = np.zeros(x.shape, np.bool_)
        for kind in kinds:
            of_kind = mode == kind
            if kind == MEMBER:
                result[of_kind] = self.members.hold(nodes[of_kind], x[of_kind])
            else:
                result[of_kind] = compared(kind, x[of_kind], threshold[of_kind])
        return result


def compared(mode: int, x: NDArray[np.float64], threshold: NDArray[np.float64]) -> NDArray[np.bool_]:
    comparison = (np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal)[mode]
    return comparison(x, threshold)


def check_acyclic(on_true: Ints, on_false: Ints, mode: Ints) -> None:
    """Raises EvaluationError when a way from child to child never ends.

    Nodes that no node leads to are taken away until none is left; what lies on a circle stays.
    """
    inner = mode != LEAF
    edges = np.concatenate([on_true[inner], on_false[inner]])
    incoming = np.bincount(edges, minlength=len(mode))
    free = np.flatnonzero(incoming == 0)
    taken = 0
    while len(free):
        taken += len(free)
        within = free[inner[free]]
        children, counts = np.unique(np.concatenate([on_true[within], on_false[within]]), return_counts=True)
        incoming[children] -= counts
        free = children[incoming[children] == 0]
    if taken < len(mode):
        raise EvaluationError(f"node {np.flatnonzero(incoming > 0)[0]} of the trees leads back to itself")


def grouped(nodes: Ints, count: int) -> tuple[Ints, Ints]:
    """An order that brings votes of one node together, and where those of each node start: [votes], [count + 1]."""
    order = np.argsort(nodes, kind="stable")
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(nodes, minlength=count), out=starts[1:])
    return order, starts


def parallel(**lists: object) -> int:
    """The common length of lists or vectors; raises EvaluationError where there is none."""
    sizes = {name: len(values) for name, values in lists.items() if isinstance(values, tuple | np.ndarray)}
    if len(set(sizes.values())) > 1:
        described = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise EvaluationError(f"lists that belong together differ in length: {described}")
    return next(iter(sizes.values()), 0)


def within(values: Ints, size: int, name: str) -> Ints:
    """values, if all lie in [0, size); raises EvaluationError."""
    outside = (values < 0) | (values >= size)
    if outside.any():
        place = int(np.flatnonzero(outside)[0])
        raise EvaluationError(f"{name}[{place}] is {values[place]}, where 0 to {size - 1} are allowed")
    return values
