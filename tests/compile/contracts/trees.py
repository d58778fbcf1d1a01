"""Contracts of ensembles of trees: blocks of rows by bit vectors, and walks, of every kind of trees and votes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from compile.contracts.contract import Axes, Contract
from compile.contracts.trial import Trial
from compile.random_trees import RandomTrees, TreeShape, random_rows, tree_model
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.kernels.trees.ensemble import Ensemble, tables_of, tree_step
from sardonyx._src.compile.layouts.constants import ConstantPool
from sardonyx._src.compile.program import Step
from sardonyx._src.dtypes import DataType
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array
from sardonyx._src.ops.ml.tree_attributes import attributes_in, forest_of

MAX_ROWS = 75
SHAPES = {
    "small": TreeShape(),
    "one leaf": TreeShape(leaves=1),
    "two words": TreeShape(trees=3, leaves=70, missing=True),
    "perfect": TreeShape(leaves=32, balanced=True),
    "large": TreeShape(trees=9, leaves=400),
    "several votes": TreeShape(votes=3, missing=True),
}


def ensemble(
    trial: Trial, rows: int, shape: str, targets: int, post: str, dtype: str
) -> Sequence[Step] | None:
    model, x, expected = draw_ensemble(shape, targets, post, dtype)
    tables = tables_of(model, trial.target)
    if tables is None:
        return None
    y = trial.result(expected[:rows], tolerance=1e-6)
    return [tree_step(model, tables, trial.target, trial.input(x[:rows]), y, None, ConstantPool().tensor)]


@cache
def draw_ensemble(shape: str, targets: int, post: str, dtype: str) -> tuple[Ensemble, Array, Array]:
    """A random ensemble, rows, and their results by the reference kernel."""
    trees = RandomTrees(targets, SHAPES[shape], targets)
    lists = trees.attributes("target") | {"n_targets": targets, "post_transform": post}
    forest = forest_of(attributes_in(lists, "target"), targets)
    numpy_type = np.float32 if dtype == "float32" else np.float64
    x = random_rows(1, MAX_ROWS, numpy_type)
    reference = Interpreter(tree_model("TreeEnsembleRegressor", targets, numpy_type, lists))
    (expected,) = reference.run({"x": x}).values()
    model = Ensemble(forest, DataType.of(np.dtype(dtype)), targets, "SUM", post, np.zeros(targets))
    return model, x, np.asarray(expected, np.float64)


def ensemble_axes(target: Target) -> Axes:
    return {
        "rows": (*range(2 * target.lanes + 2), 31, 32, 33, 63, 65, MAX_ROWS),
        "shape": tuple(SHAPES),
        "targets": (1, 2, 3),
        "post": ("NONE", "SOFTMAX", "LOGISTIC"),
        "dtype": ("float32", "float64"),
    }


CONTRACTS = [Contract(ensemble, ensemble_axes)]
