"""Decision trees as arrays, and the leaves that rows of features reach.

Spec: TreeEnsemble-5 and its predecessors.  The nodes of all trees are numbered together; a leaf is its own child, so that
all rows can go through all trees level by level.  NaN is a missing value, for which a node names the branch to follow.
Attributes come from files, so everything is checked before a run.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array

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
MAX_CHUNK_PAIRS = 1 << 20  # pairs of a row and a tree that are evaluated at once
MIN_LAYER = 64  # from this number of nodes, removing them at once is faster than one by one


@dataclass(frozen=True, slots=True)
class Members:
    """The sets of nodes with mode BRANCH_MEMBER.

    values: the distinct values of all sets, sorted
    pairs: node * len(values) + index in `values`, for each element of the set of a node, sorted
    """

    values: NDArray[np.float64]
    pairs: Ints

    def hold(self, nodes: Ints, x: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether each x is in the set of its node."""
        if not len(self.values):
            return np.zeros(x.shape, np.bool_)
        rank = np.minimum(np.searchsorted(self.values, x), len(self.values) - 1)
        pair = nodes * len(self.values) + rank
        position = np.minimum(np.searchsorted(self.pairs, pair), len(self.pairs) - 1)
        return (self.values[rank] == x) & (self.pairs[position] == pair)


NO_MEMBERS = Members(np.zeros(0), np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True)
class Forest:
    """The nodes of trees, and the votes of their leaves.

    roots: the first node of each tree
    feature, threshold, mode: the comparison of each node
    missing_true: for each node, whether a missing value takes the branch `on_true`
    on_true, on_false: the next node if the comparison holds, and if it does not
    starts: [nodes + 1]; the votes of node i are those from starts[i] to starts[i + 1]
    vote_target, vote_weight: the target and the weight of each vote
    members: the sets of nodes with mode BRANCH_MEMBER
    """

    roots: Ints
    feature: Ints
    threshold: NDArray[np.float64]
    mode: Ints
    missing_true: NDArray[np.bool_]
    on_true: Ints
    on_false: Ints
    starts: Ints
    vote_target: Ints
    vote_weight: NDArray[np.float64]
    members: Members = NO_MEMBERS

    def leaves(self, rows: Array) -> Ints:
        """rows: [N, F], result: [N, trees], the leaf that each row reaches in each tree."""
        features = self.feature[self.mode != LEAF]
        if features.size and not 0 <= features.min() <= features.max() < rows.shape[1]:
            outside = features.min() if features.min() < 0 else features.max()
            raise EvaluationError(
                f"feature ids must be in [0, {rows.shape[1]}), the features of a row; got {outside}"
            )
        x = rows.astype(np.float64)
        result = np.tile(self.roots, (len(x), 1))
        step = max(1, MAX_CHUNK_PAIRS // max(1, len(self.roots)))
        for start in range(0, len(x), step):
            self.descend(x[start : start + step], result[start : start + step])
        return result

    def descend(self, x: NDArray[np.float64], nodes: Ints) -> None:
        """Replace each of `nodes`, [n, trees], by the leaf below it that the row of `x` reaches."""
        row, tree = np.nonzero(self.mode[nodes] != LEAF)
        while len(row):
            current = nodes[row, tree]
            value = x[row, self.feature[current]]
            is_true = np.where(np.isnan(value), self.missing_true[current], self.holds(current, value))
            below = np.where(is_true, self.on_true[current], self.on_false[current])
            nodes[row, tree] = below
            inner = self.mode[below] != LEAF
            row, tree = row[inner], tree[inner]

    def holds(self, nodes: Ints, x: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether the comparison of each node holds for its x."""
        mode, threshold = self.mode[nodes], self.threshold[nodes]
        kinds = np.unique(mode).tolist()
        if len(kinds) == 1 and kinds[0] != MEMBER:
            return compare(kinds[0], x, threshold)
        result = np.zeros(x.shape, np.bool_)
        for kind in kinds:
            of_kind = mode == kind
            if kind == MEMBER:
                result[of_kind] = self.members.hold(nodes[of_kind], x[of_kind])
            else:
                result[of_kind] = compare(kind, x[of_kind], threshold[of_kind])
        return result


def compare(mode: int, x: NDArray[np.float64], threshold: NDArray[np.float64]) -> NDArray[np.bool_]:
    comparison = (np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal)[mode]
    return comparison(x, threshold)


def check_acyclic(on_true: Ints, on_false: Ints, mode: Ints) -> None:
    """Raises EvaluationError if the child relation has a cycle."""
    topological_order(on_true, on_false, mode)


def topological_order(on_true: Ints, on_false: Ints, mode: Ints) -> Ints:
    """The nodes in an order in which each precedes its children; raises EvaluationError if they have a cycle.

    Kahn's algorithm: nodes without incoming edges are removed until none is left; cycles remain.  Many are removed at
    once, few one by one, so that a long chain takes linear time, too.
    """
    inner, own = mode != LEAF, np.arange(len(mode))
    if ((on_true > own) & (on_false > own))[inner].all():
        return own
    incoming = np.bincount(np.concatenate([on_true[inner], on_false[inner]]), minlength=len(mode))
    free = np.flatnonzero(incoming == 0)
    layers = [free]
    while len(free) >= MIN_LAYER:
        within = free[inner[free]]
        children, counts = np.unique(np.concatenate([on_true[within], on_false[within]]), return_counts=True)
        incoming[children] -= counts
        free = children[incoming[children] == 0]
        layers.append(free)
    layers.append(remove_singly(free.tolist(), on_true, on_false, inner, incoming))
    order = np.concatenate(layers)
    if len(order) < len(mode):
        node = node_on_cycle(order, on_true, on_false, inner)
        raise EvaluationError(f"the trees must be acyclic; node {node} leads back to itself")
    return order


def node_on_cycle(order: Ints, on_true: Ints, on_false: Ints, inner: Array) -> int:
    """The least node of a cycle.  order: the nodes that Kahn's algorithm removes; cycles, and what is below them, remain."""
    remaining = np.ones(len(inner), np.bool_)
    remaining[order] = False
    parents = {
        int(child): int(node)
        for node in np.flatnonzero(remaining & inner)
        for child in (on_true[node], on_false[node])
    }
    node, path = int(np.flatnonzero(remaining)[0]), dict[int, None]()
    while node not in path:  # each remaining node has a remaining parent
        path[node] = None
        node = parents[node]
    numbers = list(path)
    return min(numbers[numbers.index(node) :])


def remove_singly(free: list[int], on_true: Ints, on_false: Ints, inner: Array, incoming: Ints) -> Ints:
    """The nodes that can be removed after those of `free`, in order."""
    if not free:
        return np.zeros(0, np.int64)
    true, false, is_inner, counts = (a.tolist() for a in (on_true, on_false, inner, incoming))
    order: list[int] = []
    while free:
        node = free.pop()
        if not is_inner[node]:
            continue
        for child in (true[node], false[node]):
            counts[child] -= 1
            if not counts[child]:
                order.append(child)
                free.append(child)
    return np.array(order, np.int64)


def group_votes(nodes: Ints, count: int) -> tuple[Ints, Ints]:
    """The order that groups votes by node, and the start of each node's votes: [votes], [count + 1]."""
    order = np.argsort(nodes, kind="stable")
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(nodes, minlength=count), out=starts[1:])
    return order, starts


def common_length(**lists: object) -> int:
    """The common length of lists or vectors; raises EvaluationError if they differ."""
    sizes = {name: len(values) for name, values in lists.items() if isinstance(values, tuple | np.ndarray)}
    if len(set(sizes.values())) > 1:
        described = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise EvaluationError(f"parallel lists must be of one length; got {described}")
    return next(iter(sizes.values()), 0)


def check_range(values: Ints, size: int, name: str) -> Ints:
    """The values; raises EvaluationError unless all lie in [0, size)."""
    outside = (values < 0) | (values >= size)
    if outside.any():
        i = int(np.flatnonzero(outside)[0])
        raise EvaluationError(f"{name}[{i}] must be in [0, {size}); got {values[i]}")
    return values
