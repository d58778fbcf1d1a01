import ml_dtypes
import numpy as np
import pytest

import sardonyx as sx
from cases import Case, assert_case
from models import parse_model
from sardonyx._src.convert.conversion import convert
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.infer.walk import infer
from sardonyx._src.ir import TensorType
from sardonyx._src.schema import latest
from versions import convert_closely, op_types

X = [[1, 2], [3, 4]]
W = [
    [[1, 0, 2], [0, 1, -1]],
    [[0, 1, 0.5], [1, 0, 1]],
]  # of X: [1, 2, 0], [3, 4, 2]; [2, 1, 2.5], [4, 3, 5.5]
INDICES = [[0, 1], [1, 1]]
Y = [[[1, 2, 0], [2, 1, 2.5]], [[4, 3, 5.5], [4, 3, 5.5]]]
BIAS = [[10, 20, 30], [-1, -2, -3]]
BIASED = [[[11, 22, 30], [1, -1, -0.5]], [[3, 1, 2.5], [3, 1, 2.5]]]
FLOATS = (np.float16, np.float32, np.float64, ml_dtypes.bfloat16)

CASES = [
    *(Case("GroupedMatMul", 29, [np.array(X, t), np.array(W, t), np.array(INDICES, i)], [np.array(Y, t)],
           label=f"{np.dtype(t).name} {np.dtype(i).name}")
      for t in FLOATS for i in (np.int32, np.int64)),
    *(Case("GroupedMatMul", 29, [np.array(X, t), np.array(W, t), np.array(INDICES), np.array(BIAS, t)],
           [np.array(BIASED, t)], label=f"bias {np.dtype(t).name}") for t in FLOATS),
    Case("GroupedMatMul", 29, [np.ones((0, 2), "f4"), np.array(W, "f4"), np.zeros((0, 2), "i8")],
         [np.zeros((0, 2, 3), "f4")], label="no tokens"),
    Case("GroupedMatMul", 29, [np.array(X, "f4"), np.array(W, "f4"), np.zeros((2, 0), "i8")],
         [np.zeros((2, 0, 3), "f4")], label="no selections"),
    Case("GroupedMatMul", 29, [np.ones((2, 0), "f4"), np.ones((2, 0, 3), "f4"), np.array(INDICES), np.array(BIAS, "f4")],
         [np.array(BIAS, "f4")[np.array(INDICES)]], label="sums of no terms"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_the_product_is_rounded_before_the_bias_is_added() -> None:
    """2049 is between the float16 numbers 2048 and 2050, and ties to even."""
    x, w, bias = np.array([[1, 2048]], "f2"), np.ones((1, 2, 1), "f2"), np.array([[1]], "f2")
    assert_case(Case("GroupedMatMul", 29, [x, w, np.array([[0]]), bias], [np.array([[[2048]]], "f2")]))


@pytest.mark.parametrize("index", [-1, 2])
def test_an_index_that_is_no_group_is_an_error(index: int) -> None:
    with pytest.raises(EvaluationError, match=rf"group_indices must be in \[0, 2\); got {index}"):
        assert_case(
            Case("GroupedMatMul", 29, [np.array(X, "f4"), np.array(W, "f4"), np.array([[0], [index]])], [...])
        )


def test_a_constant_index_that_is_no_group_is_an_error_of_the_model() -> None:
    text = "g (float[2,2] x, float[2,2,3] w) => (float[2,1,3] y) <int64[2,1] i = {0, -1}> { y = GroupedMatMul(x, w, i) }"
    with pytest.raises(InferenceError, match=r"group_indices must be in \[0, 2\)"):
        infer(parse_model(text, opset=29))


@pytest.mark.parametrize(
    ("x", "w", "indices", "message"),
    [
        ("float[2]", "float[2,2,3]", "int64[2,1]", "input 0 must have rank 2; got rank 1"),
        ("float[2,2]", "float[2,3]", "int64[2,1]", "input 1 must have rank 3; got rank 2"),
        ("float[2,4]", "float[2,2,3]", "int64[2,1]", "the reduced dimensions"),
        ("float[2,2]", "float[2,2,3]", "int64[3,1]", "the numbers of tokens"),
    ],
)
def test_operands_that_do_not_fit_are_refused(x: str, w: str, indices: str, message: str) -> None:
    text = f"g ({x} x, {w} w, {indices} i) => (y) {{ y = GroupedMatMul(x, w, i) }}"
    with pytest.raises(InferenceError, match=message):
        infer(parse_model(text, opset=29))


def test_symbolic_sizes_are_those_of_the_operands() -> None:
    text = "g (float[M,K] x, float[G,K,N] w, int64[M,S] i) => (y) { y = GroupedMatMul(x, w, i) }"
    model = parse_model(text, opset=29)
    infer(model)
    (y,) = model.graph.outputs
    assert isinstance(y.type, TensorType)
    assert [str(dim) for dim in y.type.shape or ()] == ["M", "S", "N"]


MODEL = """g (float[2,2] x, float[2,2,3] w, int64[2,2] i, float[2,3] b) => (float[2,2,3] y) {
  p = GroupedMatMul(x, w, i, b)
  y = Abs(p)
}"""
FEEDS = {"x": np.array(X, "f4"), "w": np.array(W, "f4"), "i": INDICES, "b": np.array(BIAS, "f4")}


def test_an_older_set_has_the_nodes_of_its_body() -> None:
    older = convert_closely(MODEL, 29, latest(""), **FEEDS)
    assert op_types(older) == ["Unsqueeze", "Gather", "MatMul", "Squeeze", "Gather", "Add", "Abs"]
    convert_closely(MODEL, 29, 13, **FEEDS)


def test_the_set_under_development_has_the_operators_of_the_one_before() -> None:
    text = "g (float[2,3] x) => (float[2,3] y) { a = Softmax(x) y = Swish(a) }"
    newer = convert(parse_model(text, opset=28), opset=29)
    assert (newer.opset_imports, op_types(newer)) == ({"": 29}, ["Softmax", "Swish"])


def test_a_session_runs_it_on_both_engines() -> None:
    feeds = {name: np.array(value, "i8" if name == "i" else "f4") for name, value in FEEDS.items()}
    for engine in ("native", "reference"):
        y = sx.Session(parse_model(MODEL, opset=29), engine=engine).run(feeds)["y"]
        np.testing.assert_array_equal(y, np.abs(np.array(BIASED, "f4")))
