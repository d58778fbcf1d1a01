"""TreeEnsemble: the aggregated votes of decision trees; nodes and leaves have separate lists.

Spec: ai.onnx.ml TreeEnsemble-5.  Its description of `falseleafs` contradicts itself; here an id is the number of a leaf if
its flag is 1, and of a node if it is 0.  The sets of BRANCH_MEMBER nodes are in membership_values, in the order of the nodes,
separated by NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.batches import batch, rows
from sardonyx._src.ops.ml.forest import (
    LEAF,
    MEMBER,
    NO_MEMBERS,
    Forest,
    Ints,
    Members,
    check_acyclic,
    check_range,
    common_length,
    group_votes,
)
from sardonyx._src.ops.ml.identity_key import IdentityKey
from sardonyx._src.ops.ml.post_transforms import POST_TRANSFORMS, apply_post_transform
from sardonyx._src.ops.ml.tree_attributes import Integers
from sardonyx._src.ops.ml.tree_votes import AGGREGATE_FUNCTIONS, aggregate

op = Operator("TreeEnsemble", "ai.onnx.ml", tolerance="rounding")


@op.eval(5, ignores=("nodes_hitrates",))
def evaluate(
    X: Array,
    *,
    aggregate_function: int,
    leaf_targetids: Integers,
    leaf_weights: Array,
    membership_values: Array | None = None,
    n_targets: int | None = None,
    nodes_falseleafs: Integers,
    nodes_falsenodeids: Integers,
    nodes_featureids: Integers,
    nodes_missing_value_tracks_true: Integers = (),
    nodes_modes: Array,
    nodes_splits: Array,
    nodes_trueleafs: Integers,
    nodes_truenodeids: Integers,
    post_transform: int,
    tree_roots: Integers,
    context: RunContext,
) -> Array:
    """X: [N, F] or [F], result: [N, n_targets] of its type; n_targets defaults to the largest target id plus 1."""
    targets = max(leaf_targetids, default=0) + 1 if n_targets is None else n_targets
    function = name_at(AGGREGATE_FUNCTIONS, aggregate_function, "aggregate_function")
    transform = name_at(POST_TRANSFORMS, post_transform, "post_transform")
    attributes = EnsembleAttributes(
        nodes_featureids,
        nodes_splits,
        nodes_modes,
        nodes_truenodeids,
        nodes_trueleafs,
        nodes_falsenodeids,
        nodes_falseleafs,
        nodes_missing_value_tracks_true,
        tree_roots,
        leaf_targetids,
        leaf_weights,
        membership_values,
    )
    x, forest = rows(X), build_cached(IdentityKey(attributes), targets)
    check_result_bytes(context, (len(x), targets), np.float64, "TreeEnsemble result")
    scores, _ = aggregate(forest, forest.leaves(x), targets, function)
    return apply_post_transform(scores, transform).astype(X.dtype)


class EnsembleAttributes(NamedTuple):
    """The attributes of the trees; names do not have the prefix `nodes_`."""

    featureids: Integers
    splits: Array
    modes: Array
    truenodeids: Integers
    trueleafs: Integers
    falsenodeids: Integers
    falseleafs: Integers
    missing: Integers
    tree_roots: Integers
    leaf_targetids: Integers
    leaf_weights: Array
    membership_values: Array | None


PREFIXED = {"tree_roots", "leaf_targetids", "leaf_weights", "membership_values"}
LONG_NAMES = {"missing": "nodes_missing_value_tracks_true"}


def ensemble_forest(attributes: Mapping[str, object]) -> tuple[Forest, int, str, str]:
    """The trees, the number of targets, and the names of aggregate function and post transform, from attributes."""
    names = [LONG_NAMES.get(f, f if f in PREFIXED else f"nodes_{f}") for f in EnsembleAttributes._fields]
    lists = EnsembleAttributes._make(
        attributes.get(name, None if name == "membership_values" else ()) for name in names
    )
    declared = attributes.get("n_targets")
    targets = declared if isinstance(declared, int) else max(lists.leaf_targetids, default=0) + 1
    function, post = attributes["aggregate_function"], attributes["post_transform"]
    assert isinstance(function, int) and isinstance(post, int), "both are numbers"
    words = (
        name_at(AGGREGATE_FUNCTIONS, function, "aggregate_function"),
        name_at(POST_TRANSFORMS, post, "post_transform"),
    )
    return build_cached(IdentityKey(lists), targets), targets, *words


@lru_cache(maxsize=8)
def build_cached(same: IdentityKey[EnsembleAttributes], targets: int) -> Forest:
    return build_forest(same.attributes, targets)


def build_forest(a: EnsembleAttributes, targets: int) -> Forest:
    """The trees; raises EvaluationError for an invalid forest.  Leaves are numbered after the nodes."""
    modes = a.modes.reshape(-1).astype(np.int64)
    feature, splits = np.array(a.featureids, np.int64), a.splits.reshape(-1).astype(np.float64)
    missing = np.array(a.missing or (0,) * len(modes), np.bool_)
    lists = {"nodes_modes": modes, "nodes_featureids": feature, "nodes_splits": splits}
    count = common_length(**lists, nodes_missing_value_tracks_true=missing)
    weights, ids = a.leaf_weights.reshape(-1).astype(np.float64), np.array(a.leaf_targetids, np.int64)
    leaves = common_length(leaf_weights=weights, leaf_targetids=ids)
    own = np.arange(count, count + leaves)
    on_true = children(a.truenodeids, a.trueleafs, count, leaves, "nodes_truenodeids")
    on_false = children(a.falsenodeids, a.falseleafs, count, leaves, "nodes_falsenodeids")
    forest = Forest(
        check_range(np.array(a.tree_roots, np.int64), count, "tree_roots"),
        np.concatenate([feature, np.zeros(leaves, np.int64)]),
        np.concatenate([splits, np.zeros(leaves)]),
        np.concatenate([check_range(modes, LEAF, "nodes_modes"), np.full(leaves, LEAF)]),
        np.concatenate([missing, np.zeros(leaves, np.bool_)]),
        np.concatenate([on_true, own]),
        np.concatenate([on_false, own]),
        group_votes(own, count + leaves)[1],
        check_range(ids, targets, "leaf_targetids"),
        weights,
        members_of(modes, a.membership_values),
    )
    check_acyclic(forest.on_true, forest.on_false, forest.mode)
    return forest


def name_at(names: tuple[str, ...], number: int, what: str) -> str:
    if not 0 <= number < len(names):
        raise EvaluationError(f"{what} must be in [0, {len(names)}); got {number}")
    return names[number]


def children(ids: Integers, leafs: Integers, nodes: int, leaves: int, name: str) -> Ints:
    """The ids of children in a common numbering of nodes and leaves, in which leaves follow the nodes."""
    child, is_leaf = np.array(ids, np.int64), np.array(leafs, np.int64) != 0
    if not len(child) == len(is_leaf) == nodes:
        raise EvaluationError(
            f"{name} must have one id and one flag for each of {nodes} nodes; got {len(child)} and {len(is_leaf)}"
        )
    check_range(np.where(is_leaf, 0, child), nodes, name)
    check_range(np.where(is_leaf, child, 0), max(leaves, 1), name)
    if is_leaf.any() and not leaves:
        raise EvaluationError(f"{name} must not lead to leaves in an ensemble without leaves")
    return np.where(is_leaf, child + nodes, child)


def members_of(modes: Ints, values: Array | None) -> Members:
    nodes = np.flatnonzero(modes == MEMBER)
    if values is None:
        if len(nodes):
            raise EvaluationError("nodes of mode BRANCH_MEMBER need membership_values")
        return NO_MEMBERS
    flat = values.reshape(-1).astype(np.float64)
    ends = np.isnan(flat)
    sets = int(ends.sum()) + (not len(ends) or not ends[-1])  # the last set may be followed by NaN, or not
    if len(flat) and sets != len(nodes):
        raise EvaluationError(
            f"membership_values must have {len(nodes)} sets, one for each node of mode BRANCH_MEMBER; got {sets}"
        )
    which = (np.cumsum(ends) - ends)[~ends]
    known, rank = np.unique(flat[~ends], return_inverse=True)
    return Members(known, np.sort(nodes[which] * max(1, len(known)) + rank))


@op.infer(5)
def infer(inference: Inference) -> Result:
    try:
        _, targets, _, _ = ensemble_forest(inference.attributes)
    except EvaluationError as error:
        inference.fail(error.why)
    dtype = inference.dtype(0)
    if dtype is None:
        return None
    for name in ("leaf_weights", "nodes_splits", "membership_values"):
        numbers = inference.attributes.get(name)
        if isinstance(numbers, np.ndarray) and numbers.dtype != dtype.numpy:
            inference.fail(f"{name} must have the type of the input, {dtype.text}; got {numbers.dtype}")
    return TensorType(dtype, (batch(inference)[0], targets))
