"""TreeEnsembleRegressor: the aggregated votes of decision trees for a row of features.

Spec: ai.onnx.ml TreeEnsembleRegressor-1, -3, -5.  3 has numbers as tensors of double, too; 5 is deprecated and means the
same.  Base values are added to the aggregates, also where no tree votes; post transforms come last.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.ml.batches import batch, rows
from sardonyx._src.ops.ml.post_transforms import POST_TRANSFORMS, Scores, apply_post_transform
from sardonyx._src.ops.ml.tree_attributes import (
    CODES,
    Integers,
    Numbers,
    TreeAttributes,
    check_forest,
    either,
    forest_of,
)
from sardonyx._src.ops.ml.tree_votes import AGGREGATE_FUNCTIONS, aggregate
from sardonyx._src.ops.traits import enum_values

op = Operator(
    "TreeEnsembleRegressor",
    "ai.onnx.ml",
    tolerance="rounding",
    enum_attributes={
        "aggregate_function": enum_values(*AGGREGATE_FUNCTIONS),
        "nodes_modes": enum_values(*CODES),
        "post_transform": enum_values(*POST_TRANSFORMS),
    },
)


@op.eval(1, 3, 5, ignores=("nodes_hitrates", "nodes_hitrates_as_tensor"))
def evaluate(
    X: Array,
    *,
    aggregate_function: str,
    base_values: tuple[float, ...] = (),
    base_values_as_tensor: Array | None = None,
    n_targets: int | None = None,
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
    target_ids: Integers = (),
    target_nodeids: Integers = (),
    target_treeids: Integers = (),
    target_weights: tuple[float, ...] = (),
    target_weights_as_tensor: Array | None = None,
    context: RunContext,
) -> Array:
    """X: [N, F] or [F], result: [N, n_targets] float32.  Default of n_targets: the largest of target_ids plus 1."""
    targets = max(target_ids, default=0) + 1 if n_targets is None else n_targets
    attributes = TreeAttributes(
        nodes_treeids,
        nodes_nodeids,
        nodes_featureids,
        either(nodes_values, nodes_values_as_tensor),
        nodes_modes,
        nodes_truenodeids,
        nodes_falsenodeids,
        nodes_missing_value_tracks_true,
        target_treeids,
        target_nodeids,
        target_ids,
        either(target_weights, target_weights_as_tensor),
    )
    x, forest = rows(X), forest_of(attributes, targets)
    check_result_bytes(context, (len(x), targets), np.float64, "TreeEnsembleRegressor result")
    scores, _ = aggregate(forest, forest.leaves(x), targets, aggregate_function)
    scores = scores + base(either(base_values, base_values_as_tensor), targets)
    return apply_post_transform(scores, post_transform).astype(np.float32)


def base(values: Numbers, targets: int) -> Scores:
    if len(values) not in (0, targets):
        raise EvaluationError(f"base_values must have {targets} elements or none; got {len(values)}")
    return np.array(values, np.float64) if len(values) else np.zeros(targets)


@op.infer(1, 3, 5)
def infer(inference: Inference) -> Result:
    targets = inference.attributes.get("n_targets")
    if not isinstance(targets, int):
        ids = inference.attributes.get("target_ids", ())
        assert isinstance(ids, tuple), "target_ids is no list"
        targets = max(ids, default=0) + 1
    check_forest(inference, "target", targets)
    return TensorType(DataType.FLOAT, (batch(inference)[0], targets))
