"""Trees whose nodes and leaves share their lists (version 3) as a TreeEnsemble, where each have their own (version 5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.ml.class_labels import labels_of
from sardonyx._src.ops.ml.forest import LEAF, LEQ, Forest
from sardonyx._src.ops.ml.post_transforms import NAMES
from sardonyx._src.ops.ml.tree_attributes import Numbers, attributes_in, forest_of, numbers
from sardonyx._src.ops.ml.tree_ensemble_classifier import op as classifier
from sardonyx._src.ops.ml.tree_ensemble_regressor import base
from sardonyx._src.ops.ml.tree_ensemble_regressor import op as regressor
from sardonyx._src.ops.ml.tree_votes import FUNCTIONS

ML = "ai.onnx.ml"
NODES = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
Floats = NDArray[np.float64]


@dataclass(slots=True)
class Lists:
    """The lists of a TreeEnsemble as they grow."""

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
        """A tree of one leaf, which takes a node that leads to it either way."""
        node, leaf = self.node(0, 0.0, LEQ, 0), self.leaf(target, weight)
        for side in (0, 1):
            self.lead(node, side, leaf, leaf=True)
        self.roots.append(node)

    def add(self, forest: Forest, vote: Callable[[int], tuple[int, float]]) -> None:
        """The trees of a forest, with the one vote that `vote` gives each leaf."""
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
    c: Change, lists: Lists, x: Value, dtype: DataType, targets: int, function: str, post: str
) -> Value:
    """A TreeEnsemble of these lists; x and all numbers are of `dtype`."""
    return c.op(
        "TreeEnsemble",
        x,
        domain=ML,
        aggregate_function=FUNCTIONS.index(function),
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
        post_transform=NAMES.index(post),
        tree_roots=lists.roots,
    )


@regressor.convert((3, 5))
def regressor_to_ensemble(c: Change) -> Converted:
    """Sums and averages become sums, in which base values are trees of one leaf.

    Averages of one vote a leaf stay averages.  Where numbers and inputs are floats all stays in float, which the way
    back needs; elsewhere numbers are double on the way.
    """
    forest, targets = forest_in(c, "target")
    function, post = str(c.t.attributes["aggregate_function"]), str(c.t.attributes["post_transform"])
    bases = base(numbers(c.t.attributes, "base_values"), targets)
    if function in ("MIN", "MAX"):
        lists = extreme(c, forest, bases)
    elif function == "AVERAGE" and not bases.any() and (np.diff(forest.starts) <= 1).all():
        lists = summed(forest, bases)
    else:
        lists = summed(forest, bases, max(1, len(forest.roots)) if function == "AVERAGE" else 1)
        function = "SUM"
    if c.dtype(0) is DataType.FLOAT and all(map(is_float, (*lists.splits, *lists.weights))):
        return ensemble(c, lists, c.input(0), DataType.FLOAT, targets, function, post)
    x = c.Cast(c.input(0), to=DataType.DOUBLE)
    return c.Cast(ensemble(c, lists, x, DataType.DOUBLE, targets, function, post), to=DataType.FLOAT)


def is_float(number: float) -> bool:
    return number != number or float(np.float32(number)) == number


def summed(forest: Forest, bases: Floats, share: int = 1) -> Lists:
    """Trees whose sums are those of the forest and the base values; each tree once for every vote that a leaf may have."""
    lists = Lists()
    counts = np.diff(forest.starts)
    for layer in range(max(1, int(counts.max(initial=0)))):

        def vote(i: int, layer: int = layer) -> tuple[int, float]:
            if layer >= counts[i]:
                return 0, 0.0
            at = int(forest.starts[i]) + layer
            return int(forest.vote_target[at]), float(forest.vote_weight[at]) / share

        lists.add(forest, vote)
    for target, weight in enumerate(bases.tolist()):
        if weight:
            lists.stump(target, weight)
    return lists


def extreme(c: Change, forest: Forest, bases: Floats) -> Lists:
    """Trees whose least or greatest votes are those of the forest, base values added to each."""
    counts = np.diff(forest.starts)
    leaves = forest.mode == LEAF
    if (counts[leaves] == 0).any():
        c.refuse("a leaf that votes for nothing would vote for 0 there")
    if bases.any() and len(always_voted(forest)) < len(bases):
        c.refuse("a target may get no vote, and its base value would be missing there")
    lists = Lists()
    for layer in range(max(1, int(counts.max(initial=0)))):

        def vote(i: int, layer: int = layer) -> tuple[int, float]:
            at = int(forest.starts[i]) + min(layer, int(counts[i]) - 1)  # the last once more changes nothing
            target = int(forest.vote_target[at])
            return target, float(forest.vote_weight[at] + bases[target])

        lists.add(forest, vote)
    return lists


def always_voted(forest: Forest) -> set[int]:
    """The targets for which some tree votes wherever it ends."""
    found: set[int] = set()
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
        found |= set.intersection(*votes)
    return found


@classifier.convert((3, 5))
def classifier_to_ensemble(c: Change) -> Converted:
    """The sums of a TreeEnsemble, and what the classifier makes of them in nodes of the default domain."""
    forest, classes = forest_in(c, "class")
    bases, post = numbers(c.t.attributes, "base_values"), str(c.t.attributes["post_transform"])
    only = np.unique(forest.vote_target)
    x = c.Cast(c.input(0), to=DataType.DOUBLE)
    if classes == 2 and len(only) == 1 and len(bases) < 2:
        chosen, scores = binary(c, forest, x, int(only[0]), bases, post)
    else:
        lists = summed(forest, base(bases, classes))
        sums = ensemble(c, lists, x, DataType.DOUBLE, classes, "SUM", "NONE")
        chosen = c.ArgMax(choosable(c, forest, x, sums, bases), axis=1, keepdims=0)
        scores = sums if post == "NONE" else ensemble(c, lists, x, DataType.DOUBLE, classes, "SUM", post)
    return [c.Gather(c.constant(labels(c)), chosen), c.Cast(scores, to=DataType.FLOAT)]


def choosable(c: Change, forest: Forest, x: Value, sums: Value, bases: Numbers) -> Value:
    """The sums, -infinity for classes without a vote: they are no choice, though 0 may be the highest sum."""
    classes = len(labels(c))
    if len(bases) or (forest.vote_weight > 0).all() or len(always_voted(forest)) == classes:
        return sums
    counted = summed(replace(forest, vote_weight=np.ones(len(forest.vote_weight))), np.zeros(classes))
    counts = ensemble(c, counted, x, DataType.DOUBLE, classes, "SUM", "NONE")
    none, least = (c.constant(v, DataType.DOUBLE) for v in (0.0, -np.inf))
    return c.Where(c.Greater(counts, none), sums, least)


def binary(c: Change, forest: Forest, x: Value, only: int, bases: Numbers, post: str) -> tuple[Value, Value]:
    """The place of the label and the scores of two classes, of which one is voted for."""
    signed = bool((forest.vote_weight < 0).any())
    both = np.zeros(2)
    both[only] = float(bases[0]) if len(bases) else 0.0
    lists = summed(forest, both)
    sums = ensemble(c, lists, x, DataType.DOUBLE, 2, "SUM", "NONE")
    score = c.Gather(sums, c.integers([only]), axis=1)
    is_second = c.Greater(
        c.Gather(sums, c.integers(only), axis=1), c.constant(0.0 if signed else 0.5, DataType.DOUBLE)
    )
    chosen = c.Cast(is_second, to=DataType.INT64)
    if only == 1:
        return chosen, sums if post == "NONE" else ensemble(c, lists, x, DataType.DOUBLE, 2, "SUM", post)
    if post == "PROBIT":
        c.refuse("post_transform PROBIT cannot be said in other operators")
    if post == "LOGISTIC":
        first, second = c.Sigmoid(c.Neg(score)), c.Sigmoid(score)
    else:
        first = c.Neg(score) if signed else c.Sub(c.constant(1.0, DataType.DOUBLE), score)
        second = score
    return chosen, c.op("Concat", first, second, axis=1)


def forest_in(c: Change, vote: str) -> tuple[Forest, int]:
    """The trees of the node and how many targets or classes they vote for."""
    try:
        attributes = attributes_in(c.t.attributes, vote)
        targets = count_of(c, vote, attributes.vote_ids)
        return forest_of(attributes, targets), targets
    except EvaluationError as error:
        c.refuse(error.why)


def labels(c: Change) -> Array:
    a = c.t.attributes
    return labels_of(a.get("classlabels_int64s"), a.get("classlabels_strings"))  # type: ignore[arg-type]


def count_of(c: Change, vote: str, ids: Sequence[int]) -> int:
    if vote == "class":
        return len(labels(c))
    found = c.t.attributes.get("n_targets")
    return found if isinstance(found, int) else max(ids, default=0) + 1
