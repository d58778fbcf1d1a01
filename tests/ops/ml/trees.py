"""Trees as attributes of TreeEnsembleClassifier and TreeEnsembleRegressor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Node:
    """A node: with a feature, or a leaf without.  Ids are places in the tree."""

    feature: int = 0
    value: float = 0.0
    mode: str = "LEAF"
    on_true: int = 0
    on_false: int = 0
    missing_true: int = 0


@dataclass(frozen=True)
class Vote:
    """The weight of a leaf for a class or target."""

    tree: int
    node: int
    id: int
    weight: float


def stump(mode: str = "BRANCH_LEQ", value: float = 0.0, missing_true: int = 0) -> list[Node]:
    """Feature 0 compared with a value: leaf 1 if true, leaf 2 if false."""
    return [Node(0, value, mode, 1, 2, missing_true), Node(), Node()]


def nodes(*trees: Sequence[Node]) -> dict[str, object]:
    """The attributes `nodes_*`."""
    all_nodes = [(t, n, node) for t, tree in enumerate(trees) for n, node in enumerate(tree)]
    return {
        "nodes_treeids": [t for t, _, _ in all_nodes],
        "nodes_nodeids": [n for _, n, _ in all_nodes],
        "nodes_featureids": [node.feature for _, _, node in all_nodes],
        "nodes_values": [float(node.value) for _, _, node in all_nodes],
        "nodes_modes": [node.mode for _, _, node in all_nodes],
        "nodes_truenodeids": [node.on_true for _, _, node in all_nodes],
        "nodes_falsenodeids": [node.on_false for _, _, node in all_nodes],
        "nodes_missing_value_tracks_true": [node.missing_true for _, _, node in all_nodes],
    }


def votes(prefix: str, *leaf_votes: Vote) -> dict[str, object]:
    """The attributes `class_*` or `target_*`."""
    return {
        f"{prefix}_treeids": [v.tree for v in leaf_votes],
        f"{prefix}_nodeids": [v.node for v in leaf_votes],
        f"{prefix}_ids": [v.id for v in leaf_votes],
        f"{prefix}_weights": [float(v.weight) for v in leaf_votes],
    }
