"""TreeEnsemble, TreeEnsembleRegressor and TreeEnsembleClassifier with integer labels.

Falls back to the reference kernel for ensembles without trees, and for invalid attributes, which it reports.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.compile.kernels.trees.ensemble import Ensemble, TreeTables, tables_of, tree_step
from sardonyx._src.compile.kernels.trees.variant import ResultKind
from sardonyx._src.compile.lower import LaidOutRegion, Lowering, lowers
from sardonyx._src.compile.partition import Read, Region, Scope, Shape, Write, matches
from sardonyx._src.compile.prepare.bound_node import BoundNode
from sardonyx._src.compile.program import Step
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Value
from sardonyx._src.ir.dims import dim_product
from sardonyx._src.ops.ml.class_labels import labels_of
from sardonyx._src.ops.ml.forest import LEAF, Forest
from sardonyx._src.ops.ml.post_transforms import POST_TRANSFORMS
from sardonyx._src.ops.ml.tree_attributes import attributes_in, forest_of, numbers
from sardonyx._src.ops.ml.tree_ensemble import ensemble_forest
from sardonyx._src.ops.ml.tree_ensemble_regressor import base
from sardonyx._src.ops.ml.tree_votes import AGGREGATE_FUNCTIONS

FEATURE_TYPES = (DataType.FLOAT, DataType.DOUBLE, DataType.INT32, DataType.INT64)
MAX_TARGETS = 1 << 16  # scratch memory has a total of each target for each row of a block


@dataclass(frozen=True, slots=True, eq=False)
class TreeConfig:
    """The parameters of an ensemble.

    tables: the trees as the kernel reads them.
    shape: the dims of the scores.
    score_type: the element type of the scores.
    used: for each output, whether it is read, so that the region writes it.
    """

    ensemble: Ensemble
    tables: TreeTables
    shape: Shape
    score_type: DataType
    used: tuple[bool, ...]


@matches("TreeEnsemble", 5, domain="ai.onnx.ml")
def match_tree_ensemble(op: BoundNode, scope: Scope) -> Region[TreeConfig] | None:
    x = op.input(0)
    if x is None or scope.dtype_of(x) not in (DataType.FLOAT, DataType.DOUBLE):
        return None
    try:
        forest, targets, function, post = ensemble_forest(op.attributes)
    except EvaluationError:
        return None
    ensemble = Ensemble(forest, scope.dtype(x), targets, function, post, np.zeros(min(targets, MAX_TARGETS)))
    return match_trees(op, scope, x, ensemble)


@matches("TreeEnsembleRegressor", 1, 3, 5, domain="ai.onnx.ml")
def match_tree_regressor(op: BoundNode, scope: Scope) -> Region[TreeConfig] | None:
    x, a = op.input(0), op.attributes
    if x is None or scope.dtype_of(x) not in FEATURE_TYPES:
        return None
    targets = op.optional("n_targets")
    try:
        attributes = attributes_in(a, "target")
        targets = targets if isinstance(targets, int) else max(attributes.vote_ids, default=0) + 1
        if targets > MAX_TARGETS:
            return None
        forest, bases = forest_of(attributes, targets), base(numbers(a, "base_values"), targets)
    except EvaluationError:
        return None
    function, post = op.attribute("aggregate_function", str), op.attribute("post_transform", str)
    return match_trees(op, scope, x, Ensemble(forest, scope.dtype(x), targets, function, post, bases))


@matches("TreeEnsembleClassifier", 1, 3, 5, domain="ai.onnx.ml")
def match_tree_classifier(op: BoundNode, scope: Scope) -> Region[TreeConfig] | None:
    x = op.input(0)
    if x is None or scope.dtype_of(x) not in FEATURE_TYPES:
        return None
    try:
        ensemble = classifier_ensemble(op, scope.dtype(x))
    except EvaluationError:
        return None
    return None if ensemble is None else match_trees(op, scope, x, ensemble)


def classifier_ensemble(op: BoundNode, dtype: DataType) -> Ensemble | None:
    """The trees of a classifier; None for string labels.  Raises EvaluationError for invalid attributes."""
    names, post = op.ints("classlabels_int64s"), op.attribute("post_transform", str)
    if not names or op.optional("classlabels_strings"):
        return None
    labels, bases = labels_of(names, None), np.array(numbers(op.attributes, "base_values"), np.float64)
    forest = forest_of(attributes_in(op.attributes, "class"), len(labels))
    voted = np.unique(forest.vote_target).tolist()
    if len(labels) == 2 and len(voted) == 1 and len(bases) < 2:
        result, both = binary_result(forest, voted[0]), np.zeros(2)
        both[voted[0]] = bases[0] if len(bases) else 0.0
        is_linear = post in ("SOFTMAX", "SOFTMAX_ZERO") and voted[0] == 0
        return Ensemble(forest, dtype, 2, "SUM", "NONE" if is_linear else post, both, result, labels)
    every = base(bases, len(labels))
    return Ensemble(forest, dtype, len(labels), "SUM", post, every, "classes", labels, len(bases) > 0)


def binary_result(forest: Forest, voted: int) -> ResultKind:
    """The kind of result of a binary classifier whose trees vote for one class only."""
    if (forest.vote_weight < 0).any():
        return "signed_second_class" if voted else "signed_first_class"
    return "second_class" if voted else "first_class"


def match_trees(op: BoundNode, scope: Scope, x: Value, ensemble: Ensemble) -> Region[TreeConfig] | None:
    """The region of an ensemble; None unless rows are long enough for all features in every run."""
    if not scope.is_native(x) or not is_supported(ensemble):
        return None
    shape = scope.known_shape(x)
    rows, length = (1, *shape) if len(shape) == 1 else (shape[0] if shape else 0, dim_product(shape[1:]))
    features = ensemble.forest.feature[ensemble.forest.mode != LEAF]
    if not shape or features.min(initial=0) < 0:
        return None
    if features.size and not scope.guard_ge(length, int(features.max()) + 1):
        return None
    tables = tables_of(ensemble, scope.target)
    if tables is None:
        return None
    used = tuple(op.is_output_used(i) for i in range(1 if ensemble.labels is None else 2))
    config = TreeConfig(ensemble, tables, (rows, ensemble.targets), scope.dtype(op.node.outputs[-1]), used)
    writes = tuple(Write(op.node.outputs[i]) for i, is_used in enumerate(used) if is_used)
    return Region("Trees", (op.node,), config, (Read(x),), writes)


def is_supported(ensemble: Ensemble) -> bool:
    forest = ensemble.forest
    if not len(forest.roots) or not 0 < ensemble.targets <= MAX_TARGETS:
        return False
    if ensemble.function in ("MIN", "MAX") and np.isnan(forest.vote_weight).any():
        return False
    return ensemble.function in AGGREGATE_FUNCTIONS and ensemble.post in POST_TRANSFORMS


@lowers("Trees")
def lower_trees(region: LaidOutRegion[TreeConfig], lowering: Lowering) -> Step:
    config, results = region.config, iter(region.results)
    ensemble, shape = config.ensemble, config.shape
    dtypes = (region.config.score_type,) if ensemble.labels is None else (DataType.INT64, DataType.FLOAT)
    shapes = (shape,) if ensemble.labels is None else (shape[:1], shape)
    tensors = [
        next(results) if is_used else lowering.temporary(dtype, dims, f"{region.name}.unused")
        for is_used, dtype, dims in zip(config.used, dtypes, shapes, strict=True)
    ]
    labels = None if ensemble.labels is None else tensors[0]
    x, scores = region.operands[0], tensors[-1]
    return tree_step(ensemble, config.tables, lowering.target, x, scores, labels, lowering.constant_tensor)
