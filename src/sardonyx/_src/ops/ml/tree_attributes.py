"""The trees of TreeEnsembleClassifier and TreeEnsembleRegressor, whose nodes and leaves share their lists.

Spec: ai.onnx.ml TreeEnsembleClassifier-1, -3, -5, TreeEnsembleRegressor-1, -3, -5.  A node is named by the ids of its
tree and itself; the root of a tree is the node that no other one leads to, the first of several.  Votes of inner
nodes are ignored.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.ml.forest import (
    LEAF,
    MEMBER,
    MODES,
    Forest,
    Ints,
    check_acyclic,
    check_range,
    common_length,
    group_votes,
)
from sardonyx._src.ops.ml.identity_key import IdentityKey

CODES = {name: code for code, name in enumerate(MODES[:MEMBER])} | {"LEAF": LEAF}
Integers = tuple[int, ...]
Numbers = tuple[float, ...] | Array


class TreeAttributes(NamedTuple):
    """The attributes that describe trees: `nodes_*`, and for the votes of leaves `class_*` or `target_*`.

    Fields that begin with `vote_` are attributes of the votes; `missing` is nodes_missing_value_tracks_true.
    """

    treeids: Integers
    nodeids: Integers
    featureids: Integers
    values: Numbers
    modes: tuple[str, ...]
    truenodeids: Integers
    falsenodeids: Integers
    missing: Integers
    vote_treeids: Integers
    vote_nodeids: Integers
    vote_ids: Integers
    vote_weights: Numbers


def forest_of(attributes: TreeAttributes, targets: int) -> Forest:
    """The trees, with votes for `targets` classes or targets; raises EvaluationError for an invalid forest."""
    return build_cached(IdentityKey(attributes), targets)


@lru_cache(maxsize=8)
def build_cached(same: IdentityKey[TreeAttributes], targets: int) -> Forest:
    return build_forest(same.attributes, targets)


def build_forest(a: TreeAttributes, targets: int) -> Forest:
    mode = codes(a.modes)
    trees, nodes = np.array(a.treeids, np.int64), np.array(a.nodeids, np.int64)
    on_true, on_false = np.array(a.truenodeids, np.int64), np.array(a.falsenodeids, np.int64)
    feature, threshold = np.array(a.featureids, np.int64), np.array(a.values, np.float64).reshape(-1)
    missing = np.array(a.missing, np.bool_) if len(a.missing) else np.zeros(len(mode), np.bool_)
    lists = {
        "nodes_treeids": trees,
        "nodes_nodeids": nodes,
        "nodes_featureids": feature,
        "nodes_values": threshold,
    }
    lists |= {"nodes_modes": mode, "nodes_truenodeids": on_true, "nodes_falsenodeids": on_false}
    count = common_length(**lists, nodes_missing_value_tracks_true=missing)
    names = NodeIndex(trees, nodes)
    inner, own = mode != LEAF, np.arange(count)
    on_true, on_false = (
        np.where(inner, names.positions(trees, np.where(inner, child, nodes)), own)
        for child in (on_true, on_false)
    )
    check_acyclic(on_true, on_false, mode)
    starts, target, weight = votes(a, names, mode, targets)
    return Forest(
        roots(trees, np.concatenate([on_true[inner], on_false[inner]])),
        feature,
        threshold,
        mode,
        missing,
        on_true,
        on_false,
        starts,
        target,
        weight,
    )


def attributes_in(a: Mapping[str, object], votes: str) -> TreeAttributes:
    """The tree attributes of a node; votes: the prefix of the attributes of votes.  Raises EvaluationError."""
    names = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
    lists = [numbers(a, "nodes_values") if n == "values" else a.get(f"nodes_{n}", ()) for n in names]
    missing = a.get("nodes_missing_value_tracks_true", ())
    voted = [a.get(f"{votes}_{name}", ()) for name in ("treeids", "nodeids", "ids")]
    return TreeAttributes._make([*lists, missing, *voted, numbers(a, f"{votes}_weights")])


def numbers(a: Mapping[str, object], name: str) -> Numbers:
    """The numbers of an attribute that may be a list or a tensor."""
    return either(a.get(name, ()), a.get(f"{name}_as_tensor"))  # type: ignore[arg-type]  # the schema sets the types


def either(numbers: tuple[float, ...], tensor: Array | None) -> Numbers:
    """The numbers of the list or of the tensor, whichever is set."""
    if tensor is not None and len(numbers):
        raise EvaluationError("numbers must be set as a list or as a tensor; got both")
    return numbers if tensor is None else tensor


def check_forest(inference: Inference, votes: str, targets: int) -> None:
    """Raises InferenceError for invalid trees."""
    try:
        forest_of(attributes_in(inference.attributes, votes), targets)
    except EvaluationError as error:
        inference.fail(error.why)


def codes(modes: tuple[str, ...]) -> Ints:
    unknown = next((m for m in modes if m not in CODES), None)
    if unknown is not None:
        raise EvaluationError(f"nodes_modes must be among {', '.join(CODES)}; got {unknown!r}")
    return np.array([CODES[m] for m in modes], np.int64)


class NodeIndex:
    """Index of nodes by tree id and node id."""

    def __init__(self, trees: Ints, nodes: Ints) -> None:
        self.trees, self.nodes = np.unique(trees), np.unique(nodes)
        keys = self.keys(trees, nodes)
        self.order = np.argsort(keys, kind="stable")
        self.sorted = keys[self.order]
        twice = np.flatnonzero(self.sorted[1:] == self.sorted[:-1])
        if len(twice):
            i = self.order[twice[0]]
            raise EvaluationError(
                f"node ids of a tree must be distinct; got node {nodes[i]} of tree {trees[i]} twice"
            )

    def keys(self, trees: Ints, nodes: Ints) -> Ints:
        """A number for each pair of a tree and a node; -1 for an id that no node has."""
        tree, node = np.searchsorted(self.trees, trees), np.searchsorted(self.nodes, nodes)
        known = np.append(self.trees, 0)[tree] == trees
        known &= np.append(self.nodes, 0)[node] == nodes
        known &= (tree < len(self.trees)) & (node < len(self.nodes))
        return np.where(known, tree * len(self.nodes) + node, -1)

    def positions(self, trees: Ints, nodes: Ints) -> Ints:
        """The positions of nodes in the lists; raises EvaluationError for an unknown node."""
        keys = self.keys(trees, nodes)
        position = np.searchsorted(self.sorted, keys)
        unknown = np.append(self.sorted, -2)[position] != keys
        if unknown.any():
            i = int(np.flatnonzero(unknown)[0])
            raise EvaluationError(f"there is no node {nodes[i]} in tree {trees[i]}")
        return self.order[position]


def roots(trees: Ints, children: Ints) -> Ints:
    """The first node of each tree that is not a child."""
    orphans = np.ones(len(trees), np.bool_)
    orphans[children] = False
    positions = np.flatnonzero(orphans)
    return positions[np.sort(np.unique(trees[positions], return_index=True)[1])]


def votes(
    a: TreeAttributes, names: NodeIndex, mode: Ints, targets: int
) -> tuple[Ints, Ints, NDArray[np.float64]]:
    """The start of each node's votes, their targets, and their weights."""
    trees, nodes = np.array(a.vote_treeids, np.int64), np.array(a.vote_nodeids, np.int64)
    ids, weights = np.array(a.vote_ids, np.int64), np.array(a.vote_weights, np.float64).reshape(-1)
    common_length(treeids=trees, nodeids=nodes, ids=ids, weights=weights)
    check_range(ids, targets, "the ids of the votes")
    positions = names.positions(trees, nodes)
    of_leaves = mode[positions] == LEAF
    positions, ids, weights = positions[of_leaves], ids[of_leaves], weights[of_leaves]
    order, starts = group_votes(positions, len(mode))
    return starts, ids[order], weights[order]
