"""Version adapter from TreeEnsemble (version 5) to TreeEnsembleRegressor (version 3).

Nodes and leaves have separate lists in version 5, and common lists in version 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from itertools import pairwise

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ops.ml.forest import LEAF, MEMBER, MODES, Forest
from sardonyx._src.ops.ml.tree_conversion import ML, is_float
from sardonyx._src.ops.ml.tree_ensemble import ensemble_forest
from sardonyx._src.ops.ml.tree_ensemble import op as ensemble_op
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

MAX_EXPANDED_NODES = 1 << 24  # the largest number of nodes when shared subtrees have been duplicated


@dataclass(slots=True)
class RegressorLists:
    """Builder of the attribute lists of a TreeEnsembleRegressor.

    children: the numbers of the nodes that follow each node where its comparison holds, and where it does not
    votes: the tree, node, target and weight of each vote
    """

    trees: list[int] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    features: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    modes: list[str] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    children: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    votes: list[tuple[int, int, int, float]] = field(default_factory=list)

    def node(self, tree: int, mode: str, feature: int = 0, value: float = 0.0, missing: int = 0) -> int:
        number = len(self.nodes)
        if number >= MAX_EXPANDED_NODES:
            raise EvaluationError(f"the expanded trees must have at most {MAX_EXPANDED_NODES} nodes")
        self.trees.append(tree)
        self.nodes.append(number)
        self.features.append(feature)
        self.values.append(value)
        self.modes.append(mode)
        self.missing.append(missing)
        for side in (0, 1):
            self.children[side].append(0)
        return number

    def add(self, forest: Forest) -> None:
        """Adds each tree with nodes of its own; subtrees shared by two nodes are duplicated."""
        for tree, root in enumerate(forest.roots.tolist()):
            pending: list[tuple[int, list[tuple[int, int]]]] = [
                (root, [])
            ]  # a node, and its (parent, side) links
            while pending:
                old, parents = pending.pop()
                first, below = self.grow(forest, tree, old)
                for parent, side in parents:
                    self.children[side][parent] = first
                pending.extend(below)

    def grow(
        self, forest: Forest, tree: int, old: int
    ) -> tuple[int, list[tuple[int, list[tuple[int, int]]]]]:
        """Add the new nodes of an old one: one node, or for a set membership a chain of nodes.

        Returns the first new node, and the old children, each with the links (parent, side) that lead to it.
        """
        feature, missing = int(forest.feature[old]), int(forest.missing_true[old])
        if forest.mode[old] == LEAF:
            leaf = self.node(tree, "LEAF")
            for vote in range(int(forest.starts[old]), int(forest.starts[old + 1])):
                self.votes.append(
                    (tree, leaf, int(forest.vote_target[vote]), float(forest.vote_weight[vote]))
                )
            return leaf, []
        if forest.mode[old] != MEMBER:
            name = MODES[int(forest.mode[old])]
            chain = [self.node(tree, name, feature, float(forest.threshold[old]), missing)]
        else:
            count = max(1, len(forest.members.values))
            own = [p % count for p in forest.members.pairs.tolist() if p // count == old]
            members = [float(forest.members.values[rank]) for rank in own] or [np.inf]
            chain = [
                self.node(tree, "BRANCH_EQ", feature, value, missing if i == 0 else 0)
                for i, value in enumerate(members)
            ]
        for link, next_link in pairwise(chain):
            self.children[1][link] = next_link
        on_true, on_false = int(forest.on_true[old]), int(forest.on_false[old])
        below = [(on_true, [(node, 0)]) for node in chain]
        return chain[0], [*below, (on_false, [(chain[-1], 1)])]


@ensemble_op.convert((5, 0))
def ensemble_to_regressor(adapter: Adapter) -> AdaptedNode:
    """The same trees; set membership becomes a chain of comparisons."""
    if adapter.dtype(0) is DataType.DOUBLE:
        adapter.refuse("the target operator computes float results; got double")
    x = (
        adapter.input(0)
        if adapter.dtype(0) is DataType.FLOAT
        else adapter.Cast(adapter.input(0), to=DataType.FLOAT)
    )
    try:
        forest, targets, function, post = ensemble_forest(adapter.inference.attributes)
        lists = RegressorLists()
        lists.add(forest)
    except EvaluationError as error:
        adapter.refuse(error.why)
    result = adapter.op(
        "TreeEnsembleRegressor",
        x,
        domain=ML,
        aggregate_function=function,
        n_targets=targets,
        nodes_falsenodeids=lists.children[1],
        nodes_featureids=lists.features,
        nodes_missing_value_tracks_true=lists.missing,
        nodes_modes=lists.modes,
        nodes_nodeids=lists.nodes,
        nodes_treeids=lists.trees,
        nodes_truenodeids=lists.children[0],
        nodes_values=floats(adapter, lists.values, "nodes_splits"),
        post_transform=post,
        target_ids=[v[2] for v in lists.votes],
        target_nodeids=[v[1] for v in lists.votes],
        target_treeids=[v[0] for v in lists.votes],
        target_weights=floats(adapter, [v[3] for v in lists.votes], "leaf_weights"),
    )
    return result if x is adapter.input(0) else adapter.Cast(result, to=adapter.dtype(0))


def floats(adapter: Adapter, values: Sequence[float], what: str) -> list[float]:
    with np.errstate(over="ignore"):
        wide = [v for v in values if not is_float(v)]
    if wide:
        adapter.refuse(f"{what} must be exact in float; got {wide[0]}")
    return list(values)
