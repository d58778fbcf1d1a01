"""TreeEnsembleClassifier: the class that decision trees vote for, and the sums of their votes.

Spec: ai.onnx.ml TreeEnsembleClassifier-1, -3, -5.  3 also has numbers as tensors of double; 5 is deprecated and means the
same.  The label is the class with the highest sum of votes and base value; without base values, only classes that got a vote
can win.

Exported binary classifiers have two classes and votes for only one of them.  The sum of votes is then the score of the second
class.  This class wins if the sum is above 0.5, or above 0 if any weight is negative.  The score of the first class is 1 minus
the sum, or its negative (see `both_classes`); if the votes are for the second class, the scores are not changed in this way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.batches import batch, rows
from sardonyx._src.ops.ml.class_labels import label_type, labels_of
from sardonyx._src.ops.ml.forest import Forest
from sardonyx._src.ops.ml.post_transforms import POST_TRANSFORMS, Scores, apply_post_transform, both_classes
from sardonyx._src.ops.ml.tree_attributes import (
    CODES,
    Integers,
    Numbers,
    TreeAttributes,
    check_forest,
    either,
    forest_of,
)
from sardonyx._src.ops.ml.tree_votes import aggregate
from sardonyx._src.ops.traits import enum_values

op = Operator(
    "TreeEnsembleClassifier",
    "ai.onnx.ml",
    tolerance="rounding",
    enum_attributes={"nodes_modes": enum_values(*CODES), "post_transform": enum_values(*POST_TRANSFORMS)},
)


@op.eval(1, 3, 5, ignores=("nodes_hitrates", "nodes_hitrates_as_tensor"))
def evaluate(
    X: Array,
    *,
    base_values: tuple[float, ...] = (),
    base_values_as_tensor: Array | None = None,
    class_ids: Integers = (),
    class_nodeids: Integers = (),
    class_treeids: Integers = (),
    class_weights: tuple[float, ...] = (),
    class_weights_as_tensor: Array | None = None,
    classlabels_int64s: Integers | None = None,
    classlabels_strings: tuple[str, ...] | None = None,
    nodes_falsenodeids: Integers = (),
    nodes_featureids: Integers = (),
    nodes_missing_value_tracks_true: Integers = (),
    nodes_modes: tuple[str, ...] = (),
    nodes_nodeids: Integers = (),
    nodes_treeids: Integers = (),
    nodes_truenodeids: Integers = (),
    nodes_values: tuple[float, ...] = (),
    nodes_values_as_tensor: Array | None = None,
    post_transform: str,
    context: RunContext,
) -> tuple[Array, Array]:
    """X: [N, F] or [F]; results: [N] labels, [N, E] float32."""
    labels = labels_of(classlabels_int64s, classlabels_strings)
    attributes = TreeAttributes(
        nodes_treeids,
        nodes_nodeids,
        nodes_featureids,
        either(nodes_values, nodes_values_as_tensor),
        nodes_modes,
        nodes_truenodeids,
        nodes_falsenodeids,
        nodes_missing_value_tracks_true,
        class_treeids,
        class_nodeids,
        class_ids,
        either(class_weights, class_weights_as_tensor),
    )
    x, forest = rows(X), forest_of(attributes, len(labels))
    check_result_bytes(context, (len(x), len(labels)), np.float64, "TreeEnsembleClassifier result")
    sums, voted = aggregate(forest, forest.leaves(x), len(labels), "SUM")
    chosen, scores = classify(sums, voted, forest, either(base_values, base_values_as_tensor), post_transform)
    return labels[chosen], scores.astype(np.float32)


def classify(
    sums: Scores, voted: NDArray[np.bool_], forest: Forest, base: Numbers, post_transform: str
) -> tuple[NDArray[np.int64], Scores]:
    """The index of the class of each row, and the scores of all classes."""
    classes = sums.shape[1]
    only = np.unique(forest.vote_target)
    if classes == 2 and len(only) == 1 and len(base) < 2:
        return binary(sums, int(only[0]), forest, base, post_transform)
    if len(base) not in (0, classes):
        raise EvaluationError(f"base_values must have {classes} elements or none; got {len(base)}")
    if len(base):
        sums, voted = sums + np.array(base, np.float64), np.ones_like(voted)
    return np.where(voted, sums, -np.inf).argmax(axis=1), apply_post_transform(sums, post_transform)


def binary(
    sums: Scores, only: int, forest: Forest, base: Numbers, post_transform: str
) -> tuple[NDArray[np.int64], Scores]:
    signed = bool((forest.vote_weight < 0).any())
    score = sums[:, only : only + 1] + (float(base[0]) if len(base) else 0.0)
    second = (score[:, 0] > (0 if signed else 0.5)).astype(np.int64)
    if only == 1:
        return second, apply_post_transform(np.hstack([np.zeros_like(score), score]), post_transform)
    return second, both_classes(score, post_transform, signed=signed)


@op.infer(1, 3, 5)
def infer(inference: Inference) -> Result:
    dtype, classes = label_type(inference, "classlabels_int64s")
    check_forest(inference, "class", classes)
    n = batch(inference)[0]
    return TensorType(dtype, (n,)), TensorType(DataType.FLOAT, (n, classes))
