"""Random ensembles as attributes of TreeEnsembleRegressor and TreeEnsembleClassifier, of TreeEnsemble, and as models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cases import attribute
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Graph, Model, Node, TensorType, Value

ML = "ai.onnx.ml"
FEATURES = 5
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
GRID = np.arange(-2, 2.5, 0.5)  # thresholds and features, so that ties are frequent


@dataclass(frozen=True)
class TreeShape:
    """leaves: of each tree.  balanced: whether a split halves the leaves.  votes: of each leaf, at most."""

    trees: int = 7
    leaves: int = 9
    balanced: bool = False
    modes: Sequence[str] = MODES[:1]
    votes: int = 1
    missing: bool = False
    one_target_per_tree: bool = False


class RandomTrees:
    """The lists of an ensemble in the form of TreeEnsembleRegressor; leaves of tree t vote for some of the targets."""

    def __init__(self, seed: int, shape: TreeShape, targets: int) -> None:
        self.rng, self.shape, self.targets = np.random.default_rng(seed), shape, targets
        self.nodes: list[tuple[int, int, int, float, str, int, int, int]] = []
        self.votes: list[tuple[int, int, int, float]] = []
        for tree in range(shape.trees):
            self.add_tree(tree)

    def add_tree(self, tree: int) -> None:
        pending, count = [(0, self.shape.leaves)], 1
        while pending:
            node, leaves = pending.pop()
            if leaves == 1:
                self.nodes.append((tree, node, 0, 0.0, "LEAF", 0, 0, 0))
                self.add_votes(tree, node)
                continue
            left = leaves // 2 if self.shape.balanced else int(self.rng.integers(1, leaves))
            mode = str(self.rng.choice(list(self.shape.modes)))
            missing = int(self.rng.integers(2)) if self.shape.missing else 0
            feature, value = int(self.rng.integers(FEATURES)), float(self.rng.choice(GRID))
            self.nodes.append((tree, node, feature, value, mode, count, count + 1, missing))
            pending += [(count + 1, leaves - left), (count, left)]
            count += 2

    def add_votes(self, tree: int, node: int) -> None:
        count = min(self.shape.votes, self.targets)
        chosen = (
            [tree % self.targets]
            if self.shape.one_target_per_tree
            else self.rng.permutation(self.targets)[:count]
        )
        self.votes += [(tree, node, int(t), float(np.float32(self.rng.normal()))) for t in chosen]

    def attributes(self, prefix: str) -> dict[str, object]:
        """The lists of nodes, and those of votes with a prefix: `target` or `class`."""
        names = (
            "treeids",
            "nodeids",
            "featureids",
            "values",
            "modes",
            "truenodeids",
            "falsenodeids",
            "missing_value_tracks_true",
        )
        lists: dict[str, object] = {
            f"nodes_{n}": list(v) for n, v in zip(names, zip(*self.nodes, strict=True), strict=True)
        }
        votes = zip(("treeids", "nodeids", "ids", "weights"), zip(*self.votes, strict=True), strict=True)
        return lists | {f"{prefix}_{n}": list(v) for n, v in votes}

    def ensemble(
        self, dtype: type[np.generic], members: Mapping[int, Sequence[float]] | None = None
    ) -> dict[str, object]:
        """The attributes of a TreeEnsemble with numbers of a type; members: the sets of nodes, by their number."""
        inner = [n for n in self.nodes if n[4] != "LEAF"]
        place = {n[:2]: i for i, n in enumerate(inner)}
        leaf = {v[:2]: i for i, v in enumerate(self.votes)}
        sides = [[(n[0], n[5]) for n in inner], [(n[0], n[6]) for n in inner]]
        ids = [[leaf[c] if c in leaf else place[c] for c in side] for side in sides]
        sets = members or {}
        lists = [np.append(np.array(sets[i], dtype), np.nan).astype(dtype) for i in sorted(sets)]
        modes = [6 if i in sets else MODES.index(n[4]) for i, n in enumerate(inner)]
        return {
            "nodes_featureids": [n[2] for n in inner],
            "nodes_splits": np.array([n[3] for n in inner], dtype),
            "nodes_modes": np.array(modes, np.uint8),
            "nodes_truenodeids": ids[0],
            "nodes_falsenodeids": ids[1],
            "nodes_trueleafs": [int(c in leaf) for c in sides[0]],
            "nodes_falseleafs": [int(c in leaf) for c in sides[1]],
            "nodes_missing_value_tracks_true": [n[7] for n in inner],
            "tree_roots": [place[t, 0] for t in range(self.shape.trees)],
            "leaf_targetids": [v[2] for v in self.votes],
            "leaf_weights": np.array([v[3] for v in self.votes], dtype),
            "n_targets": self.targets,
        } | ({"membership_values": np.concatenate(lists)} if lists else {})


def random_rows(seed: int, count: int, dtype: type[np.generic] = np.float32) -> Array:
    """Rows of features on the grid of thresholds and between, some of them NaN or infinite if they are floats."""
    rng = np.random.default_rng(seed)
    x = rng.choice(np.concatenate([GRID, GRID + 0.25]), (count, FEATURES))
    if np.dtype(dtype).kind == "f":
        x[rng.random(x.shape) < 0.1] = np.nan
        x[rng.random(x.shape) < 0.05] = np.inf
        x[rng.random(x.shape) < 0.05] = -np.inf
    return x.astype(dtype)


def tree_model(
    op: str, version: int, dtype: type[np.generic], attributes: Mapping[str, object], outputs: int = 1
) -> Model:
    """A model of one node with a free number of rows."""
    graph = Graph("trees")
    element = DataType.of(np.dtype(dtype))
    x = graph.add_input(Value("x", TensorType(element, (None, FEATURES))))
    results = [Value(f"y{i}") for i in range(outputs)]
    listed = {name: attribute(name, value) for name, value in attributes.items()}
    graph.append(Node(op, [x], results, listed, domain=ML))
    graph.outputs.extend(results)
    return Model(graph, ir_version=10, opset_imports={ML: version, "": 21})
