"""Native trees compared with onnxruntime, where its documented behavior is that of the specification."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from compile.random_trees import MODES, RandomTrees, TreeShape, random_rows, tree_model
from sardonyx._src.ir import Array, Model

POSTS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")


def assert_agrees_with_onnxruntime(model: Model, folder: Path, *rows: Array) -> None:
    """Asserts equal labels, and scores within roundings of float32 sums."""
    import onnxruntime

    path = folder / "trees.onnx"
    sx.save(model, path)
    judge = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    session = sx.Session(model, engine="native")
    assert session.stats.fallback_nodes == 0
    for x in rows:
        for actual, expected in zip(session.run({"x": x}).values(), judge.run(None, {"x": x}), strict=True):
            assert np.asarray(actual).dtype == expected.dtype
            np.testing.assert_allclose(np.asarray(actual, np.float64), expected, 2e-5, 2e-5)


def numbers(count: int, dtype: type[np.generic] = np.float32) -> Array:
    """Rows without NaN, which onnxruntime handles in ways of its own at some modes."""
    return np.nan_to_num(random_rows(count, count, np.float32), nan=0.25, posinf=9, neginf=-9).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_regressors(dtype: type[np.generic], function: str, tmp_path: Path) -> None:
    for targets, leaves in ((1, 30), (3, 90)):
        trees = RandomTrees(31, TreeShape(trees=12, leaves=leaves, votes=3), targets)
        lists: Mapping[str, object] = trees.attributes("target") | {"n_targets": targets}
        model = tree_model("TreeEnsembleRegressor", 3, dtype, {**lists, "aggregate_function": function})
        assert_agrees_with_onnxruntime(model, tmp_path, *(numbers(n, dtype) for n in (1, 40)))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("op", ["TreeEnsembleRegressor", "TreeEnsemble"])
def test_modes(mode: str, op: str, tmp_path: Path) -> None:
    trees = RandomTrees(32, TreeShape(leaves=40, modes=(mode,)), 1)
    lists = (
        trees.attributes("target") | {"n_targets": 1}
        if op.endswith("Regressor")
        else trees.ensemble(np.float32)
    )
    version = 3 if op.endswith("Regressor") else 5
    model = tree_model(op, version, np.float32, lists)
    assert_agrees_with_onnxruntime(model, tmp_path, numbers(1), numbers(50))


def test_missing_values_at_less_or_equal(tmp_path: Path) -> None:
    trees = RandomTrees(33, TreeShape(leaves=40, missing=True), 1)
    model = tree_model("TreeEnsembleRegressor", 3, np.float32, trees.attributes("target") | {"n_targets": 1})
    assert_agrees_with_onnxruntime(model, tmp_path, random_rows(1, 1), random_rows(2, 60))


@pytest.mark.parametrize("post", POSTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.int32])
def test_classifiers_of_several_classes(post: str, dtype: type[np.generic], tmp_path: Path) -> None:
    classes = 5
    trees = RandomTrees(34, TreeShape(trees=9, leaves=20, votes=classes), classes)
    lists = trees.attributes("class") | {"classlabels_int64s": list(range(7, 7 + classes))}
    model = tree_model("TreeEnsembleClassifier", 3, dtype, lists | {"post_transform": post}, outputs=2)
    assert_agrees_with_onnxruntime(model, tmp_path, *(numbers(n, dtype) for n in (1, 40)))


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC"])
def test_two_classes_of_which_the_first_id_is_voted_for(post: str, tmp_path: Path) -> None:
    trees = RandomTrees(35, TreeShape(trees=9, leaves=20), 1)
    signed = post == "LOGISTIC"
    trees.votes = [(t, n, 0, float(np.float32(w if signed else abs(w) / 20))) for t, n, _, w in trees.votes]
    lists = trees.attributes("class") | {"classlabels_int64s": [3, 4], "post_transform": post}
    model = tree_model("TreeEnsembleClassifier", 1, np.float32, lists, outputs=2)
    assert_agrees_with_onnxruntime(model, tmp_path, numbers(1), numbers(40))


def test_sets(tmp_path: Path) -> None:
    trees = RandomTrees(36, TreeShape(trees=4, leaves=12), 2)
    members = {i: [1.0, 2.0, float(i % 3)] for i in range(0, 44, 3)}
    model = tree_model("TreeEnsemble", 5, np.float32, trees.ensemble(np.float32, members))
    assert_agrees_with_onnxruntime(model, tmp_path, numbers(1), numbers(40))
