"""Operators of ai.onnx.ml on the native engine, against the reference engine, and against onnxruntime where it has them."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
import pytest
from onnx import helper

import sardonyx as sx
from cases import assert_same
from models import parse_model
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, SardonyxError
from sardonyx._src.ir import Array, Model
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.runtime.session.session import Engine

onnxruntime = pytest.importorskip("onnxruntime")

NAN, INF = np.nan, np.inf
EDGES = [[0.0, -0.0, 1.5], [NAN, 1.0, -2.0], [INF, -INF, 3.0], [1e30, -1e30, 1e-30], [2.0, 2.0, 2.0]]
WEIGHTS = "coefficients = [0.5, -1.0, 2.0, 1.0, 0.25, -0.75, -2.0, 0.5, 1.0], intercepts = [0.1, 0.2, -0.3]"
VECTORS = "1.0, 0.0, 0.5, -1.0, 2.0, 0.0, 0.0, 1.0, -1.0, 0.5, 0.5, 0.5, 2.0, -1.0, 1.0"
PAIRS = "1.0, 0.5, -0.75, 0.25, -1.0, 0.5, 1.0, 0.25, -0.5, -1.0"
KERNEL = 'kernel_type = "%s", kernel_params = [0.3, 0.7, 3.0]'
SVC = (
    f"SVMClassifier<{KERNEL}, support_vectors = [{VECTORS}], coefficients = [{PAIRS}], vectors_per_class = [2, 2, 1], "
    'rho = [0.1, -0.2, 0.3], classlabels_ints = [7, 8, 9], post_transform = "%s">(x)'
)
PAIR_SVC = (
    f"SVMClassifier<{KERNEL}, support_vectors = [{VECTORS}], coefficients = [1.0, 0.5, 0.25, -1.0, -0.75], "
    'vectors_per_class = [3, 2], rho = [0.1], classlabels_ints = [0, 1], post_transform = "%s">(x)'
)
PROBABILITIES = ", prob_a = [-2.0, -1.0, 0.5], prob_b = [0.25, 0.0, -0.5]>(x)"
SVR = (
    f"SVMRegressor<{KERNEL}, support_vectors = [{VECTORS}], coefficients = [1.0, -0.5, 0.25, -1.0, 0.75], "
    "n_supports = 5, rho = [0.4], one_class = %d>(x)"
)
TRANSFORMS = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")
KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")
CLASSIFIERS = [
    *(
        f'LinearClassifier<{WEIGHTS}, classlabels_ints = {labels}, post_transform = "{name}">(x)'
        for labels in ("[0, 1, 2]", "[5, -6, 7]")
        for name in TRANSFORMS
    ),
    *(
        f'LinearClassifier<coefficients = [0.5, -1.0, 2.0], intercepts = [0.25], classlabels_ints = [3, 4], post_transform = "{name}">(x)'
        for name in TRANSFORMS
    ),
    "LinearClassifier<coefficients = [0.5, -1.0, 2.0], classlabels_ints = [3]>(x)",
    *(SVC % (kernel, "NONE") for kernel in KERNELS),
    *(SVC % (kernel, name) for kernel in ("RBF", "POLY") for name in TRANSFORMS),
    *(PAIR_SVC % ("RBF", name) for name in TRANSFORMS),
    PAIR_SVC % ("LINEAR", "NONE"),
    *((SVC % (kernel, "NONE")).replace(">(x)", PROBABILITIES) for kernel in KERNELS),
    *((SVC % ("RBF", name)).replace(">(x)", PROBABILITIES) for name in TRANSFORMS[1:]),
    (PAIR_SVC % ("RBF", "NONE")).replace(">(x)", ", prob_a = [-1.5], prob_b = [0.25]>(x)"),
    'SVMClassifier<coefficients = [0.5, -1.0, 2.0, 1.0, 0.25, -0.75, 1.5, 0.5, -1.0], rho = [0.5, 9.0], kernel_type = "LINEAR", kernel_params = [0.0, 0.0, 0.0], classlabels_ints = [2, 4, 6]>(x)',
]
REGRESSORS = [
    *(f'LinearRegressor<{WEIGHTS}, targets = 3, post_transform = "{name}">(x)' for name in TRANSFORMS),
    "LinearRegressor<coefficients = [0.5, -1.0, 2.0], targets = 1>(x)",
    *(SVR % (kernel, one_class) for kernel in KERNELS for one_class in (0, 1)),
    'SVMRegressor<coefficients = [0.5, -1.0, 2.0], rho = [0.5], kernel_type = "LINEAR", kernel_params = [0.0, 0.0, 0.0], n_supports = 0>(x)',
]
FEATURES = [
    "Scaler<offset = [1.0, -2.0, 0.5], scale = [2.0, 0.1, -1.0]>(x)",
    "Scaler<offset = [0.5], scale = [3.0]>(x)",
    *(f'Normalizer<norm = "{norm}">(x)' for norm in ("MAX", "L1", "L2")),
    "FeatureVectorizer<inputdimensions = [3, 3]>(x, x)",
]
SAME_TYPE = [
    "Binarizer<threshold = 1.0>(x)",
    "Binarizer<threshold = -0.5>(x)",
]
FLOAT_IMPUTERS = [
    "Imputer<imputed_value_floats = [1.0, 2.0, 3.0], replaced_value_float = %r>(x)" % value  # noqa: UP031
    for value in (0.0, 2.0)
]
INTEGER_IMPUTERS = [
    "Imputer<imputed_value_int64s = [10, 20, 30], replaced_value_int64 = 2>(x)",
    "Imputer<imputed_value_int64s = [10], replaced_value_int64 = 0>(x)",
]
ENCODERS = [
    "OneHotEncoder<cats_int64s = [0, 2, -1], zeros = 1>(x)",
    "ArrayFeatureExtractor(x, places)",
]
TYPES = {"float": np.float32, "double": np.float64, "int64": np.int64, "int32": np.int32}


def model_of(call: str, dtype: str, dims: str, *, results: int = 1, version: int = 1) -> Model:
    names = ", ".join("yz"[:results])
    text = (
        f"g ({dtype}[{dims}] x) => ({names}) <int64[2] places = {{2, 0}}> {{ {names} = ai.onnx.ml.{call} }}"
    )
    return parse_model(text, opset=18, ir=8, more=f'"ai.onnx.ml": {version}')


def run_repeatedly(model: Model, x: Array) -> list[RuntimeValue]:
    """The results of the native engine, without fallback operations; the last of several runs takes the fast path."""
    session = sx.Session(model, engine="native", threads=1)
    assert session.stats.fallback_nodes == 0, session.stats
    first = session.run({"x": x})
    session.run({"x": x})
    last = session.run({"x": x})
    assert session.stats.fast_path_runs == 1 and not session.stats.bailouts, session.stats
    for name, value in first.items():
        assert_same(last[name], value, exact=True, where=name)
    return list(last.values())


def assert_native_agrees(call: str, x: Array, *, results: int = 1, version: int = 1) -> None:
    """Asserts that the native engine computes what the reference engine does, for any number of rows."""
    rank = "N" if x.ndim == 2 else None
    dims = ", ".join([rank, *map(str, x.shape[1:])]) if rank else ", ".join(map(str, x.shape))
    model = model_of(call, DataType.of(x.dtype).text, dims, results=results, version=version)
    expected = sx.Session(model, engine="reference").run({"x": x})
    for mine, (name, value) in zip(run_repeatedly(model, x), expected.items(), strict=True):
        assert_same(mine, value, exact=False, where=f"{call} {x.dtype}, output {name}")


def random_rows(dtype: str, rows: int = 37) -> Array:
    rng = np.random.default_rng(3)
    return (rng.normal(size=(rows, 3)) * 2).round(2).astype(TYPES[dtype])


@pytest.mark.parametrize("dtype", ["float", "double", "int64"])
@pytest.mark.parametrize("call", CLASSIFIERS)
def test_classifiers(call: str, dtype: str) -> None:
    for rows in (37, 1, 0):
        assert_native_agrees(call, random_rows(dtype, rows), results=2)


@pytest.mark.parametrize("call", REGRESSORS)
def test_regressors(call: str) -> None:
    for dtype in () if "SVM" in call else ("double", "int32"):
        assert_native_agrees(call, random_rows(dtype))
    for rows in (37, 1, 0):
        assert_native_agrees(call, random_rows("float", rows))


@pytest.mark.parametrize("dtype", list(TYPES))
@pytest.mark.parametrize("call", [*FEATURES, *SAME_TYPE, *ENCODERS])
def test_features(call: str, dtype: str) -> None:
    for rows in (37, 1, 0):
        assert_native_agrees(call, random_rows(dtype, rows))


@pytest.mark.parametrize("dtype", ["float", "double"])
@pytest.mark.parametrize("call", [*FEATURES, *SAME_TYPE, *FLOAT_IMPUTERS])
def test_special_numbers(call: str, dtype: str) -> None:
    with np.errstate(all="ignore"):
        assert_native_agrees(call, np.array(EDGES, TYPES[dtype]))


def test_missing_numbers_are_nan() -> None:
    call = "Imputer<imputed_value_floats = [1.0, 2.0, 3.0], replaced_value_float = @@>(x)"
    model = model_of(call.replace(", replaced_value_float = @@", ""), "float", "N, 3")
    model.graph.nodes[0].set_attribute(attribute_nan())
    assert run_repeatedly(model, np.array([[NAN, 1, NAN]], np.float32))[0].tolist() == [[1, 1, 3]]  # type: ignore[union-attr]


def attribute_nan() -> sx.ir.Attribute:
    from sardonyx._src.ir import build

    return build.attribute("replaced_value_float", float("nan"))


@pytest.mark.parametrize("dtype", ["int64"])
@pytest.mark.parametrize("call", INTEGER_IMPUTERS)
def test_imputed_integers(call: str, dtype: str) -> None:
    assert_native_agrees(call, random_rows(dtype))


@pytest.mark.parametrize("call", [CLASSIFIERS[0], REGRESSORS[0], REGRESSORS[7]])
def test_one_row_as_a_vector_and_rows_of_higher_rank(call: str) -> None:
    results = 2 if "Classifier" in call else 1
    assert_native_agrees(call, np.array([1, 2, 3], np.float32), results=results)
    assert_native_agrees(call, np.array([[[1], [2], [3]], [[4], [5], [6]]], np.float32), results=results)


def test_ties_and_nan_select_the_first_class() -> None:
    call = 'LinearClassifier<coefficients = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0], classlabels_ints = [7, 8, 9], post_transform = "NONE">(x)'
    for x in (np.array([[1, 1], [0, 0], [NAN, 1], [1, NAN], [INF, INF], [-INF, 0]], np.float32),):
        model = model_of(call, "float", "N, 2", results=2)
        expected = sx.Session(model, engine="reference").run({"x": x})
        labels, _ = run_repeatedly(model, x)
        np.testing.assert_array_equal(np.asarray(labels), np.asarray(expected["y"]))


@pytest.mark.parametrize(
    ("call", "x"),
    [
        ("LabelEncoder<keys_int64s = [3, -1, 0, 3], values_int64s = [30, 10, 0, 31], default_int64 = 99>(x)", np.array([3, -1, 0, 2, 5, -(2**63), 2**63 - 1], np.int64)),
        ("LabelEncoder<keys_int64s = [3, 1], values_floats = [0.5, 1.5], default_float = -1.0>(x)", np.array([[3, 1], [0, 2]], np.int64)),
        ("LabelEncoder<keys_floats = [1.0, 2.0, 0.0], values_int64s = [10, 20, 5], default_int64 = 99>(x)", np.array([1, 2, 1.5, 0.0, -0.0, NAN, INF, -INF, 3], np.float32)),
        ("LabelEncoder<keys_floats = [-3.0, 2.0], values_floats = [1.0, 2.0], default_float = 9.0>(x)", np.array([-3, 2, -0.0, 0.0, 1e30], np.float32)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("version", [2, 4])
def test_label_encoders_of_numbers(call: str, x: Array, version: int) -> None:
    assert_native_agrees(call, x, version=version)


KEY_TYPES = {"float": "f4", "double": "f8", "int64": "i8", "int32": "i4"}


@pytest.mark.parametrize("keys", KEY_TYPES)
@pytest.mark.parametrize("values", KEY_TYPES)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 8, 400])
@pytest.mark.parametrize("default", ["", ", default_tensor = {0}[1] {{7}}"])
def test_label_encoders_with_tensors(keys: str, values: str, count: int, default: str) -> None:
    draw = np.random.default_rng(count)
    if keys.startswith("i"):
        ends = np.iinfo(KEY_TYPES[keys])
        table = draw.choice([ends.min, ends.max, *range(-5000, 5000, 7)], count).astype(KEY_TYPES[keys])
    else:
        table = draw.choice([0.0, -0.0, *draw.normal(size=1000)], count).astype(KEY_TYPES[keys])
    targets = draw.integers(-99, 99, count)
    lists = (", ".join(map(repr, array.tolist())) for array in (table, targets))
    key_list, value_list = lists
    call = f"LabelEncoder <keys_tensor = {keys}[{count}] {{{key_list}}}, values_tensor = {values}[{count}] {{{value_list}}}{default.format(values)}> (x)"
    model = parse_model(
        f"g ({keys}[N] x) => ({values}[N] y) {{ y = ai.onnx.ml.{call} }}", opset=21, more='"ai.onnx.ml": 4'
    )
    native, reference = (sx.Session(model, engine=engine) for engine in ("native", "reference"))
    assert native.stats.fallback_nodes == 0
    others = draw.integers(-5000, 5000, 50).astype(KEY_TYPES[keys])
    special = np.array([INF, -INF, NAN, 0.0, -0.0] if keys in ("float", "double") else [0], KEY_TYPES[keys])
    x = np.concatenate([table, others, special])
    for size in (x.size, 0, 1, 17):
        expected = np.asarray(reference.run({"x": x[:size]})["y"])
        np.testing.assert_array_equal(np.asarray(native.run({"x": x[:size]})["y"]), expected)


@pytest.mark.parametrize("version", [2, 4])
def test_label_encoders_with_keys_that_are_zeros_or_nan(version: int) -> None:
    keys = np.array([NAN, 0.25, -0.0, 0.0, NAN, 1e30], np.float32)
    node = helper.make_node(
        "LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml", keys_floats=keys, values_int64s=[*range(6)]
    )
    values = [helper.make_tensor_value_info(name, kind, ["N"]) for name, kind in (("x", 1), ("y", 7))]
    graph = helper.make_graph([node], "g", values[:1], values[1:])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", version)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString()
    native, reference = (sx.Session(model, engine=engine) for engine in ("native", "reference"))
    assert native.stats.fallback_nodes == 0
    x = np.array([*keys, -NAN, 1, -1e30], np.float32)
    np.testing.assert_array_equal(
        np.asarray(native.run({"x": x})["y"]), np.asarray(reference.run({"x": x})["y"])
    )


@pytest.mark.parametrize("places", ["{2, -1}", "{3, 0}"])
def test_an_index_out_of_range_is_the_reference_engines_error(places: str) -> None:
    text = """g (float[N,3] x, int64[2] places) => (float[N,2] y) { y = ai.onnx.ml.ArrayFeatureExtractor(x, places) }"""
    model = parse_model(text, more='"ai.onnx.ml": 1')
    feeds = {"x": np.ones((2, 3), np.float32), "places": np.array(eval_list(places), np.int64)}
    session = sx.Session(model, engine="native", threads=1)
    assert session.stats.fallback_nodes == 0
    with pytest.raises(EvaluationError, match="lies outside of an axis of size 3"):
        session.run(feeds)


def eval_list(places: str) -> list[int]:
    return [int(number) for number in places.strip("{}").split(",")]


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("call", [CLASSIFIERS[0], REGRESSORS[0], FEATURES[0], REGRESSORS[7]])
def test_rows_of_another_length_are_an_error(call: str, engine: Engine) -> None:
    results = 2 if "Classifier" in call else 1
    with pytest.raises(SardonyxError, match=r"must (be|have)"):
        sx.Session(model_of(call, "float", "N, 4", results=results), engine=engine).run(
            {"x": np.ones((2, 4), np.float32)}
        )


# --- the judge -------------------------------------------------------------------------------

REFUSED = "LinearClassifier<coefficients = [0.5, -1.0, 2.0], classlabels_ints = [3]>(x)"  # no intercepts
# Elsewhere the reference engine follows the specification, not onnxruntime (docs/rulings.md).
JUDGED = [*CLASSIFIERS, *REGRESSORS, *FEATURES, *FLOAT_IMPUTERS, SAME_TYPE[0], *ENCODERS]


def run_judge(model: Model, feeds: dict[str, Array]) -> Sequence[object]:
    data = io.BytesIO()
    sx.save(sx.infer(model), data)
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    session = onnxruntime.InferenceSession(data.getvalue(), options, providers=["CPUExecutionProvider"])
    results: Sequence[object] = session.run(None, feeds)
    return results


@pytest.mark.parametrize("call", [call for call in JUDGED if call != REFUSED])
def test_onnxruntime_agrees(call: str) -> None:
    model = model_of(call, "float", "N, 3", results=2 if "Classifier" in call else 1)
    x = random_rows("float")
    for mine, judged in zip(run_repeatedly(model, x), run_judge(model, {"x": x}), strict=True):
        assert isinstance(mine, np.ndarray) and isinstance(judged, np.ndarray)
        np.testing.assert_allclose(mine, judged, rtol=2e-5, atol=2e-6)
