"""Kernels of trees: the bits of the reference engine for any number of rows, threads, and kind of trees."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import pytest

import sardonyx as sx
from compile.random_trees import FEATURES, MODES, RandomTrees, TreeShape, random_rows, tree_model
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.compile.program.steps.program import FallbackOp, Program
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.ir import Array, Model, TensorType

ROWS = (1, 2, 3, 70, 0)  # walked, and in whole and partial blocks
SHAPES = {
    "small": TreeShape(),
    "one leaf": TreeShape(leaves=1),
    "two words": TreeShape(trees=3, leaves=70),
    "perfect": TreeShape(leaves=32, balanced=True),
    "large": TreeShape(trees=9, leaves=400),
    "many": TreeShape(trees=130, leaves=6),
}
TYPES = {"float": np.float32, "double": np.float64, "int32": np.int32, "int64": np.int64}


def assert_equal_runs(model: Model, *rows: Array, exact: bool = True, threads: int = 1) -> None:
    """Asserts that a native session without fallbacks gives the results of the reference engine."""
    session, reference = sx.Session(model, engine="native", threads=threads), Interpreter(model)
    assert session.stats.fallback_nodes == 0
    for x in rows:
        pairs = zip(session.run({"x": x}).items(), reference.run({"x": x}).values(), strict=True)
        for (name, actual), expected in pairs:
            assert isinstance(actual, np.ndarray) and isinstance(expected, np.ndarray)
            assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape), name
            if exact:
                np.testing.assert_array_equal(actual, expected, name)
            else:
                tolerance = 3e-7 if actual.dtype == np.float32 else 1e-13
                np.testing.assert_allclose(actual, expected, tolerance, 1e-37)
    assert not session.stats.bailouts


def regressor(
    seed: int,
    shape: TreeShape,
    targets: int = 1,
    dtype: type[np.generic] = np.float32,
    more: Mapping[str, object] = MappingProxyType({}),
) -> Model:
    lists = RandomTrees(seed, shape, targets).attributes("target") | {"n_targets": targets}
    return tree_model("TreeEnsembleRegressor", 3, dtype, {**lists, **more})


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("dtype", TYPES.values(), ids=TYPES)
def test_sums_have_the_bits_of_the_reference_engine(shape: TreeShape, dtype: type[np.generic]) -> None:
    assert_equal_runs(regressor(1, shape, dtype=dtype), *(random_rows(n, n, dtype) for n in ROWS))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_modes_with_ties_and_missing_values(mode: str, missing: bool, dtype: type[np.generic]) -> None:
    for leaves in (2, 20, 90):
        shape = TreeShape(leaves=leaves, modes=(mode,), missing=missing)
        assert_equal_runs(regressor(2, shape, dtype=dtype), *(random_rows(n, n, dtype) for n in ROWS))


@pytest.mark.parametrize("threads", [2, 3])
def test_results_do_not_depend_on_threads(threads: int) -> None:
    for shape in (TreeShape(trees=200, leaves=30), TreeShape(trees=50, leaves=300)):
        assert_equal_runs(regressor(22, shape), random_rows(1, 2000), random_rows(2, 45), threads=threads)


def test_modes_of_one_ensemble_may_differ() -> None:
    shape = TreeShape(trees=20, leaves=25, modes=MODES, missing=True)
    assert_equal_runs(regressor(3, shape), *(random_rows(n, n) for n in ROWS))


@pytest.mark.parametrize("function", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("targets", [1, 4])
@pytest.mark.parametrize("votes", [1, 3])
@pytest.mark.parametrize("bases", [False, True])
def test_aggregate_functions(function: str, targets: int, votes: int, bases: bool) -> None:
    more: dict[str, object] = {"base_values": [0.25 * i - 1 for i in range(targets)]} if bases else {}
    for trees in (1, 11):
        model = regressor(
            4, TreeShape(trees=trees, votes=votes), targets, more=more | {"aggregate_function": function}
        )
        assert_equal_runs(model, *(random_rows(n, n) for n in ROWS))


def test_trees_that_vote_for_one_target_each() -> None:
    shape = TreeShape(trees=13, leaves=12, one_target_per_tree=True)
    for function in ("SUM", "MAX"):
        model = regressor(5, shape, 3, more={"aggregate_function": function})
        assert_equal_runs(model, *(random_rows(n, n) for n in ROWS))


def test_votes_for_few_of_many_targets_are_lists() -> None:
    for function in ("AVERAGE", "MIN"):
        model = regressor(
            6, TreeShape(trees=9, leaves=40, votes=2), 1000, more={"aggregate_function": function}
        )
        assert_equal_runs(model, *(random_rows(n, n) for n in ROWS))


def test_repeated_votes_of_a_leaf_are_added_one_by_one() -> None:
    trees = RandomTrees(7, TreeShape(), 2)
    trees.votes += [(*vote[:3], 1e-9) for vote in trees.votes]
    model = tree_model("TreeEnsembleRegressor", 1, np.float32, trees.attributes("target") | {"n_targets": 2})
    assert_equal_runs(model, *(random_rows(n, n) for n in ROWS))


def test_numbers_in_double_precision() -> None:
    trees = RandomTrees(8, TreeShape(trees=5, leaves=30, modes=MODES, missing=True), 2)
    lists = trees.attributes("target")
    values, weights = (
        np.array(lists.pop(f"{name}"), np.float64) for name in ("nodes_values", "target_weights")
    )
    lists |= {
        "nodes_values_as_tensor": values + 1e-12,
        "target_weights_as_tensor": weights + 1e-12,
        "n_targets": 2,
    }
    model = tree_model("TreeEnsembleRegressor", 3, np.float64, lists)
    x = random_rows(9, 80, np.float64)
    assert_equal_runs(model, x, x + 1e-12, x + 2e-12)
    assert_equal_runs(tree_model("TreeEnsembleRegressor", 3, np.float32, lists), x.astype(np.float32))


def test_integers_beyond_the_precision_of_floats() -> None:
    model = regressor(10, TreeShape(), dtype=np.int64)
    x = np.array([[2**62, -(2**62), 2**53 + 1, 0, -1], [2**24 + 1, 1, 2, -2, 2**63 - 1]])
    assert_equal_runs(model, x, np.repeat(x, 20, axis=0))


def test_extreme_thresholds() -> None:
    extremes = [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        1e-45,
        -1e-45,
        3.4028234663852886e38,
        -3.4028234663852886e38,
    ]
    for mode in MODES:
        for missing in (0, 1):
            trees = RandomTrees(11, TreeShape(trees=len(extremes), leaves=2, modes=(mode,)), 1)
            lists = trees.attributes("target")
            values = [extremes[tree] if kind != "LEAF" else 0.0 for tree, _, _, _, kind, *_ in trees.nodes]
            lists |= {"nodes_values": values, "nodes_missing_value_tracks_true": [missing] * len(values)}
            x = np.array([extremes, extremes[::-1]], np.float32).reshape(-1, 1) * np.ones((1, 5), np.float32)
            assert_equal_runs(tree_model("TreeEnsembleRegressor", 3, np.float32, lists), x, x[:1], x[4:5])
            assert_equal_runs(tree_model("TreeEnsembleRegressor", 3, np.float64, lists), x.astype(np.float64))


# --- TreeEnsemble ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("leaves", [2, 25, 100])
def test_tree_ensemble_with_sets(dtype: type[np.generic], leaves: int) -> None:
    trees = RandomTrees(12, TreeShape(trees=6, leaves=leaves, modes=MODES, missing=True), 3)
    count = sum(node[4] != "LEAF" for node in trees.nodes)
    rng = np.random.default_rng(13)
    members = {
        i: rng.choice(np.arange(-2, 2, 0.25), int(rng.integers(1, 9))).tolist() for i in range(0, count, 2)
    }
    for function in range(4):
        attributes = trees.ensemble(dtype, members) | {"aggregate_function": function}
        assert_equal_runs(
            tree_model("TreeEnsemble", 5, dtype, attributes), *(random_rows(n, n, dtype) for n in ROWS)
        )


def test_empty_and_large_sets() -> None:
    trees = RandomTrees(14, TreeShape(trees=2, leaves=2, missing=True), 1)
    attributes = trees.ensemble(np.float32, {0: [], 1: np.arange(-500, 500, 0.5).tolist()})
    assert_equal_runs(
        tree_model("TreeEnsemble", 5, np.float32, attributes), random_rows(1, 40), random_rows(2, 1)
    )


def test_nodes_that_several_nodes_and_roots_share() -> None:
    attributes = {
        "nodes_featureids": [0, 1, 2],
        "nodes_splits": np.array([0, 0.5, -0.5], np.float32),
        "nodes_modes": np.array([0, 0, 4], np.uint8),
        "nodes_truenodeids": [1, 2, 0],
        "nodes_trueleafs": [0, 0, 1],
        "nodes_falsenodeids": [2, 1, 2],
        "nodes_falseleafs": [0, 1, 1],
        "tree_roots": [0, 1, 1, 0],
        "leaf_targetids": [0, 1, 0],
        "leaf_weights": np.array([1, 2, 4], np.float32),
        "n_targets": 2,
    }
    assert_equal_runs(
        tree_model("TreeEnsemble", 5, np.float32, attributes), *(random_rows(n, n) for n in ROWS)
    )


def test_children_before_their_parents() -> None:
    trees = RandomTrees(15, TreeShape(trees=4, leaves=30), 1)
    trees.nodes.reverse()
    assert_equal_runs(
        tree_model("TreeEnsembleRegressor", 3, np.float32, trees.attributes("target")), random_rows(1, 50)
    )


# --- post transforms and classifiers -----------------------------------------------------------

POSTS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


@pytest.mark.parametrize("post", range(5), ids=POSTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("targets", [1, 3])
def test_post_transforms(post: int, dtype: type[np.generic], targets: int) -> None:
    for scale in (0.1, 1, 300):
        trees = RandomTrees(16, TreeShape(votes=3), targets)
        trees.votes = [(*v[:3], float(np.float32(v[3] * scale))) for v in trees.votes]
        attributes = trees.attributes("target") | {"n_targets": targets}
        model = tree_model("TreeEnsembleRegressor", 3, dtype, attributes | {"post_transform": POSTS[post]})
        assert_equal_runs(model, *(random_rows(n, n, dtype) for n in ROWS), exact=False)
        single = RandomTrees(16, TreeShape(), targets)
        single.votes = [(*v[:3], float(np.float32(v[3] * scale))) for v in single.votes]
        ensemble = single.ensemble(dtype) | {"post_transform": post}
        assert_equal_runs(
            tree_model("TreeEnsemble", 5, dtype, ensemble), random_rows(5, 40, dtype), exact=False
        )


@pytest.mark.parametrize("post", POSTS)
@pytest.mark.parametrize("version", [1, 3, 5])
@pytest.mark.parametrize("base", [(), (0.25,)])
def test_two_classes_of_which_one_is_voted_for(post: str, version: int, base: tuple[float, ...]) -> None:
    for voted in (0, 1):
        for signed in (False, True):
            trees = RandomTrees(17, TreeShape(), 1)
            votes = [(t, n, voted, w if signed else abs(w) / 20) for t, n, _, w in trees.votes]
            trees.votes = [(t, n, v, float(np.float32(w))) for t, n, v, w in votes]
            attributes = trees.attributes("class") | {"classlabels_int64s": [-7, 9], "post_transform": post}
            if base:
                attributes["base_values"] = list(base)
            assert_classifier(attributes, version)


@pytest.mark.parametrize("post", POSTS)
@pytest.mark.parametrize("classes", [1, 2, 5])
@pytest.mark.parametrize("based", [False, True])
def test_classifiers(post: str, classes: int, based: bool) -> None:
    for votes in (1, classes):
        trees = RandomTrees(18, TreeShape(trees=3, leaves=20, votes=votes), classes)
        attributes = trees.attributes("class") | {
            "classlabels_int64s": list(range(10, 10 + classes)),
            "post_transform": post,
        }
        if based:
            attributes["base_values"] = [0.5 - i for i in range(classes)]
        assert_classifier(attributes, 3)


def assert_classifier(attributes: Mapping[str, object], version: int) -> None:
    for dtype in (np.float32, np.int64):
        model = tree_model("TreeEnsembleClassifier", version, dtype, attributes, outputs=2)
        assert_equal_runs(model, *(random_rows(n, n, dtype) for n in ROWS), exact=False)


@pytest.mark.parametrize("imports", [{"ai.onnx.ml": 3, "": 21}, {"ai.onnx.ml": 1}])
def test_labels_that_are_strings_are_looked_up_after_the_kernel(imports: dict[str, int]) -> None:
    lists = RandomTrees(23, TreeShape(leaves=20, votes=3), 3).attributes("class")
    attributes = lists | {"classlabels_strings": ["a", "bé", "c"], "post_transform": "SOFTMAX"}
    model = tree_model("TreeEnsembleClassifier", 3, np.float32, attributes, outputs=2)
    model.opset_imports.clear()
    model.opset_imports.update(imports)
    session, reference = sx.Session(model, engine="native"), Interpreter(model)
    kinds = [action.node.op_type for action in program_of(model).actions if isinstance(action, FallbackOp)]
    assert kinds == ["Gather"]
    for rows in (1, 40):
        actual, expected = (run({"x": random_rows(rows, rows)}) for run in (session.run, reference.run))
        assert np.asarray(actual["y0"]).tolist() == np.asarray(expected["y0"]).tolist()
        scores, reference_scores = (np.asarray(run["y1"], np.float32) for run in (actual, expected))
        np.testing.assert_allclose(scores, reference_scores, 3e-7)


def program_of(model: Model) -> Program:
    return compile_model(model, host_target(), verify=True).program


def test_classes_without_votes_win_nothing() -> None:
    trees = RandomTrees(19, TreeShape(trees=1), 3)
    trees.votes = [(t, n, 1 + i % 2, -1.0) for i, (t, n, _, _) in enumerate(trees.votes)]
    attributes = trees.attributes("class") | {"classlabels_int64s": [5, 6, 7]}
    model = tree_model("TreeEnsembleClassifier", 3, np.float32, attributes, outputs=2)
    labels = sx.Session(model, engine="native").run({"x": random_rows(1, 50)})["y0"]
    assert 5 not in np.asarray(labels)
    assert_equal_runs(model, random_rows(1, 50))


@pytest.mark.parametrize("votes", [1, 40])
@pytest.mark.parametrize("trees", [1, 9])
def test_many_classes(votes: int, trees: int) -> None:
    """Walks whose rows are finished together: votes as lists and as tables, blocks that are full and not."""
    shape = TreeShape(trees=trees, leaves=600, votes=votes)
    lists = RandomTrees(20, shape, 40).attributes("class") | {"classlabels_int64s": list(range(7, 47))}
    model = tree_model("TreeEnsembleClassifier", 3, np.float32, lists, outputs=2)
    assert_equal_runs(model, *(random_rows(n, n) for n in (1, 4, 5, 15, 16, 17, 31, 32, 33, 100)))


# --- all widths of vectors -----------------------------------------------------------------------


# --- long chains, and trees that are not trees ---------------------------------------------------


@pytest.mark.parametrize("reverse", [False, True])
def test_long_chains_take_linear_time(reverse: bool) -> None:
    size = 50_000  # splits; as many leaves and one more
    order = np.arange(size)
    attributes = {
        "nodes_featureids": (order % FEATURES).tolist(),
        "nodes_splits": np.linspace(-2, 2, size, dtype=np.float32),
        "nodes_modes": np.zeros(size, np.uint8),
        "nodes_truenodeids": order.tolist(),
        "nodes_trueleafs": [1] * size,
        "nodes_falsenodeids": [*(order[:-1] + 1).tolist(), size],
        "nodes_falseleafs": [0] * (size - 1) + [1],
        "tree_roots": [0],
        "leaf_targetids": [0] * (size + 1),
        "leaf_weights": np.arange(size + 1, dtype=np.float32),
    }
    if reverse:
        place = size - 1 - order
        for name in ("nodes_featureids", "nodes_trueleafs", "nodes_falseleafs", "nodes_truenodeids"):
            attributes[name] = attributes[name][::-1]  # type: ignore[index]  # a list
        attributes["nodes_splits"] = np.linspace(2, -2, size, dtype=np.float32)
        attributes["nodes_falsenodeids"] = [size, *place[::-1][:-1].tolist()]
        attributes["tree_roots"] = [size - 1]
    x = np.array([[3, 3, 3, 3, 3], [0, 3, 3, 3, 3], [np.nan] * 5, [-3] * 5], np.float32)
    model = tree_model("TreeEnsemble", 5, np.float32, attributes)
    session = sx.Session(model, engine="native")
    assert session.stats.fallback_nodes == 0
    first = next(i for i in range(0, size, FEATURES) if np.linspace(-2, 2, size, dtype=np.float32)[i] >= 0)
    np.testing.assert_array_equal(np.asarray(session.run({"x": x})["y0"]), [[size], [first], [size], [0]])


INVALID: dict[str, dict[str, object]] = {
    "a cycle": {"nodes_truenodeids": [0, 0], "nodes_trueleafs": [0, 1]},
    "an unknown leaf": {"nodes_falsenodeids": [1, 9]},
    "a root that is no node": {"tree_roots": [7]},
    "lists of different lengths": {"nodes_featureids": [0]},
    "a mode that does not exist": {"nodes_modes": np.array([9, 0], np.uint8)},
}


@pytest.mark.parametrize("change", INVALID.values(), ids=INVALID)
def test_invalid_ensembles_are_errors_of_both_engines(change: dict[str, object]) -> None:
    attributes: dict[str, object] = {
        "nodes_featureids": [0, 1],
        "nodes_splits": np.array([0, 0.5], np.float32),
        "nodes_modes": np.zeros(2, np.uint8),
        "nodes_truenodeids": [1, 0],
        "nodes_trueleafs": [0, 1],
        "nodes_falsenodeids": [0, 1],
        "nodes_falseleafs": [1, 1],
        "tree_roots": [0],
        "leaf_targetids": [0, 0],
        "leaf_weights": np.array([1, 2], np.float32),
    }
    assert_equal_runs(tree_model("TreeEnsemble", 5, np.float32, attributes), random_rows(1, 4))
    model = tree_model("TreeEnsemble", 5, np.float32, attributes | change)
    messages = []
    for engine in ("reference", "native"):
        with pytest.raises(EvaluationError) as error:
            sx.Session(model, engine=engine).run({"x": random_rows(1, 4)})
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_a_feature_beyond_the_row_is_an_error_of_both_engines() -> None:
    lists = RandomTrees(21, TreeShape(leaves=30), 1).attributes("target")
    model = tree_model("TreeEnsembleRegressor", 3, np.float32, lists)
    model.graph.inputs[0].type = TensorType(DataType.FLOAT, (None, None))
    for engine in ("reference", "native"):
        session = sx.Session(model, engine=engine)
        session.run({"x": random_rows(1, 40)})
        with pytest.raises(EvaluationError, match="feature ids must be in"):
            session.run({"x": random_rows(1, 40)[:, :3]})
