"""Version adapters from TreeEnsembleRegressor and TreeEnsembleClassifier (version 3) to TreeEnsemble (version 5).

Nodes and leaves share their lists in version 3 and have separate ones in 5.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, Value
from sardonyx._src.ops.ml.class_labels import labels_of
from sardonyx._src.ops.ml.forest import LEAF, LEQ, Forest
from sardonyx._src.ops.ml.post_transforms import POST_TRANSFORMS
from sardonyx._src.ops.ml.tree_attributes import Numbers, attributes_in, forest_of, numbers
from sardonyx._src.ops.ml.tree_ensemble_classifier import op as classifier
from sardonyx._src.ops.ml.tree_ensemble_regressor import base
from sardonyx._src.ops.ml.tree_ensemble_regressor import op as regressor
from sardonyx._src.ops.ml.tree_votes import AGGREGATE_FUNCTIONS
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

ML = "ai.onnx.ml"
NODES = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
Floats = NDArray[np.float64]


@dataclass(slots=True)
class EnsembleLists:
    """Builder of the attribute lists of a TreeEnsemble.

    children: the numbers of the nodes or leaves that follow each node where its comparison holds, and where it does not
    leafs: whether each of these is a leaf
    """

    features: list[int] = field(default_factory=list)
    splits: list[float] = field(default_factory=list)
    modes: list[int] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)
    children: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    leafs: tuple[list[int], list[int]] = field(default_factory=lambda: ([], []))
    roots: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)

    def leaf(self, target: int, weight: float) -> int:
        self.targets.append(target)
        self.weights.append(weight)
        return len(self.targets) - 1

    def node(self, feature: int, split: float, mode: int, missing: int) -> int:
        self.features.append(feature)
        self.splits.append(split)
        self.modes.append(mode)
        self.missing.append(missing)
        for side in (0, 1):
            self.children[side].append(0)
            self.leafs[side].append(0)
        return len(self.features) - 1

    def lead(self, node: int, side: int, to: int, *, leaf: bool) -> None:
        self.children[side][node], self.leafs[side][node] = to, int(leaf)

    def stump(self, target: int, weight: float) -> None:
        """Add a tree of one leaf.  A tree must begin with a node, so both branches of one lead to the leaf."""
        node, leaf = self.node(0, 0.0, LEQ, 0), self.leaf(target, weight)
        for side in (0, 1):
            self.lead(node, side, leaf, leaf=True)
        self.roots.append(node)

    def add(self, forest: Forest, vote: Callable[[int], tuple[int, float]]) -> None:
        """Add the trees of a forest; `vote` returns the target and the weight of the one vote of a leaf."""
        inner = np.flatnonzero(forest.mode != LEAF).tolist()
        places = {
            i: self.node(
                int(forest.feature[i]),
                float(forest.threshold[i]),
                int(forest.mode[i]),
                int(forest.missing_true[i]),
            )
            for i in inner
        }
        leaves = {i: self.leaf(*vote(i)) for i in np.flatnonzero(forest.mode == LEAF).tolist()}
        for i in inner:
            for side, child in enumerate((int(forest.on_true[i]), int(forest.on_false[i]))):
                is_leaf = child in leaves
                self.lead(places[i], side, leaves[child] if is_leaf else places[child], leaf=is_leaf)
        for root in forest.roots.tolist():
            if root in places:
                self.roots.append(places[root])
            else:
                self.stump(*vote(root))


def ensemble(
    adapter: Adapter, lists: EnsembleLists, x: Value, dtype: DataType, targets: int, function: str, post: str
) -> Value:
    """A TreeEnsemble with these lists; x and all numbers have type `dtype`."""
    return adapter.op(
        "TreeEnsemble",
        x,
        domain=ML,
        aggregate_function=AGGREGATE_FUNCTIONS.index(function),
        leaf_targetids=lists.targets,
        leaf_weights=np.array(lists.weights, dtype.numpy),
        n_targets=targets,
        nodes_falseleafs=lists.leafs[1],
        nodes_falsenodeids=lists.children[1],
        nodes_featureids=lists.features,
        nodes_missing_value_tracks_true=lists.missing,
        nodes_modes=np.array(lists.modes, np.uint8),
        nodes_splits=np.array(lists.splits, dtype.numpy),
        nodes_trueleafs=lists.leafs[0],
        nodes_truenodeids=lists.children[0],
        post_transform=POST_TRANSFORMS.index(post),
        tree_roots=lists.roots,
    )


@regressor.convert((3, 5))
def regressor_to_ensemble(adapter: Adapter) -> AdaptedNode:
    """Sums and averages become sums; base values become trees of one leaf.

    Averages of one vote per leaf stay averages.  If all numbers and inputs are floats the ensemble is float, which the
    adapter in the other direction requires; else it is double.
    """
    forest, targets = forest_in(adapter, "target")
    function, post = (
        str(adapter.inference.attributes["aggregate_function"]),
        str(adapter.inference.attributes["post_transform"]),
    )
    bases = base(numbers(adapter.inference.attributes, "base_values"), targets)
    if function in ("MIN", "MAX"):
        lists = extreme_votes(adapter, forest, bases)
    elif function == "AVERAGE" and not bases.any() and (np.diff(forest.starts) <= 1).all():
        lists = sum_votes(forest, bases)
    else:
        lists = sum_votes(forest, bases, max(1, len(forest.roots)) if function == "AVERAGE" else 1)
        function = "SUM"
    if adapter.dtype(0) is DataType.FLOAT and all(map(is_float, (*lists.splits, *lists.weights))):
        return ensemble(adapter, lists, adapter.input(0), DataType.FLOAT, targets, function, post)
    x = adapter.Cast(adapter.input(0), to=DataType.DOUBLE)
    return adapter.Cast(
        ensemble(adapter, lists, x, DataType.DOUBLE, targets, function, post), to=DataType.FLOAT
    )


def is_float(number: float) -> bool:
    return number != number or float(np.float32(number)) == number


def sum_votes(forest: Forest, bases: Floats, share: int = 1) -> EnsembleLists:
    """Trees with the sums of the forest and the base values; one copy of each tree for every vote of a leaf."""
    lists = EnsembleLists()
    counts = np.diff(forest.starts)
    for layer in range(max(1, int(counts.max(initial=0)))):

        def vote(i: int, layer: int = layer) -> tuple[int, float]:
            if layer >= counts[i]:
                return 0, 0.0
            index = int(forest.starts[i]) + layer
            return int(forest.vote_target[index]), float(forest.vote_weight[index]) / share

        lists.add(forest, vote)
    for target, weight in enumerate(bases.tolist()):
        if weight:
            lists.stump(target, weight)
    return lists


def extreme_votes(adapter: Adapter, forest: Forest, bases: Floats) -> EnsembleLists:
    """Trees whose leaves have the least or greatest votes of the forest, with base values added to each vote."""
    counts = np.diff(forest.starts)
    leaves = forest.mode == LEAF
    if (counts[leaves] == 0).any():
        adapter.refuse("a leaf without a vote votes for 0 in the target version")
    if bases.any() and len(certain_targets(forest)) < len(bases):
        adapter.refuse("a target may get no vote, and the target version then omits its base value")
    lists = EnsembleLists()
    for layer in range(max(1, int(counts.max(initial=0)))):

        def vote(i: int, layer: int = layer) -> tuple[int, float]:
            index = int(forest.starts[i]) + min(
                layer, int(counts[i]) - 1
            )  # repeating the last vote changes nothing
            target = int(forest.vote_target[index])
            return target, float(forest.vote_weight[index] + bases[target])

        lists.add(forest, vote)
    return lists


def certain_targets(forest: Forest) -> set[int]:
    """The targets that every row gets a vote for: all leaves of some tree vote for them."""
    targets: set[int] = set()
    for root in forest.roots.tolist():
        votes: list[set[int]] = []
        pending, seen = [root], {root}
        while pending:
            node = pending.pop()
            if forest.mode[node] == LEAF:
                votes.append(set(forest.vote_target[forest.starts[node] : forest.starts[node + 1]].tolist()))
                continue
            below = {int(forest.on_true[node]), int(forest.on_false[node])} - seen
            seen |= below
            pending.extend(below)
        targets |= set.intersection(*votes)
    return targets


@classifier.convert((3, 5))
def classifier_to_ensemble(adapter: Adapter) -> AdaptedNode:
    """A TreeEnsemble computes the sums of votes; nodes of the default domain compute labels and scores."""
    forest, classes = forest_in(adapter, "class")
    bases, post = (
        numbers(adapter.inference.attributes, "base_values"),
        str(adapter.inference.attributes["post_transform"]),
    )
    only = np.unique(forest.vote_target)
    x = adapter.Cast(adapter.input(0), to=DataType.DOUBLE)
    if classes == 2 and len(only) == 1 and len(bases) < 2:
        chosen, scores = binary(adapter, forest, x, int(only[0]), bases, post)
    else:
        lists = sum_votes(forest, base(bases, classes))
        sums = ensemble(adapter, lists, x, DataType.DOUBLE, classes, "SUM", "NONE")
        chosen = adapter.ArgMax(choosable(adapter, forest, x, sums, bases), axis=1, keepdims=0)
        scores = (
            sums if post == "NONE" else ensemble(adapter, lists, x, DataType.DOUBLE, classes, "SUM", post)
        )
    return [
        adapter.Gather(adapter.constant(labels(adapter)), chosen),
        adapter.Cast(scores, to=DataType.FLOAT),
    ]


def choosable(adapter: Adapter, forest: Forest, x: Value, sums: Value, bases: Numbers) -> Value:
    """The sums, with -infinity for classes without a vote: these cannot win, even if 0 is the highest sum."""
    classes = len(labels(adapter))
    if len(bases) or (forest.vote_weight > 0).all() or len(certain_targets(forest)) == classes:
        return sums
    counted = sum_votes(replace(forest, vote_weight=np.ones(len(forest.vote_weight))), np.zeros(classes))
    counts = ensemble(adapter, counted, x, DataType.DOUBLE, classes, "SUM", "NONE")
    none, lowest = (adapter.constant(v, DataType.DOUBLE) for v in (0.0, -np.inf))
    return adapter.Where(adapter.Greater(counts, none), sums, lowest)


def binary(
    adapter: Adapter, forest: Forest, x: Value, only: int, bases: Numbers, post: str
) -> tuple[Value, Value]:
    """The index of the label, and the scores of two classes of which only class `only` gets votes."""
    signed = bool((forest.vote_weight < 0).any())
    both = np.zeros(2)
    both[only] = float(bases[0]) if len(bases) else 0.0
    lists = sum_votes(forest, both)
    sums = ensemble(adapter, lists, x, DataType.DOUBLE, 2, "SUM", "NONE")
    score = adapter.Gather(sums, adapter.integers([only]), axis=1)
    is_second = adapter.Greater(
        adapter.Gather(sums, adapter.integers(only), axis=1),
        adapter.constant(0.0 if signed else 0.5, DataType.DOUBLE),
    )
    chosen = adapter.Cast(is_second, to=DataType.INT64)
    if only == 1:
        return chosen, sums if post == "NONE" else ensemble(
            adapter, lists, x, DataType.DOUBLE, 2, "SUM", post
        )
    if post == "PROBIT":
        adapter.refuse("post_transform PROBIT cannot be decomposed")
    if post == "LOGISTIC":
        first, second = adapter.Sigmoid(adapter.Neg(score)), adapter.Sigmoid(score)
    else:
        first = adapter.Neg(score) if signed else adapter.Sub(adapter.constant(1.0, DataType.DOUBLE), score)
        second = score
    return chosen, adapter.op("Concat", first, second, axis=1)


def forest_in(adapter: Adapter, vote: str) -> tuple[Forest, int]:
    """The trees of the node and the number of targets or classes that they vote for."""
    try:
        attributes = attributes_in(adapter.inference.attributes, vote)
        targets = count_of(adapter, vote, attributes.vote_ids)
        return forest_of(attributes, targets), targets
    except EvaluationError as error:
        adapter.refuse(error.why)


def labels(adapter: Adapter) -> Array:
    a = adapter.inference.attributes
    return labels_of(a.get("classlabels_int64s"), a.get("classlabels_strings"))  # type: ignore[arg-type]  # the schema sets the types


def count_of(adapter: Adapter, vote: str, ids: Sequence[int]) -> int:
    if vote == "class":
        return len(labels(adapter))
    targets = adapter.inference.attributes.get("n_targets")
    return targets if isinstance(targets, int) else max(ids, default=0) + 1
