import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    INT64,
    M,
    N,
    assert_contradiction,
    assert_refused,
    f32,
    floats,
    i64,
    infer_types,
    ints,
    make_inference,
    samples,
    vec,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.math.top_k import select_top

X = f32([[3, 1, 4, 1], [5, 9, 2, 6]])
TOP2, AT2 = f32([[4, 3], [9, 6]]), i64([[2, 0], [1, 3]])
LOW2, LOW_AT2 = f32([[1, 1], [2, 5]]), i64([[1, 3], [2, 0]])
K2 = i64([2])


def line(values: object, k: int, top: object, indices: object, label: str, largest: int = 1) -> Case:
    return Case("TopK", 11, [f32(values), i64([k])], [f32(top), i64(indices)], {"largest": largest}, label)


CASES = [
    Case("TopK", 1, [X], [TOP2, AT2], {"k": 2}),
    Case("TopK", 1, [X], [f32([[5, 9, 4, 6]]), i64([[1, 1, 0, 1]])], {"k": 1, "axis": 0}, "other axis"),
    *(Case("TopK", v, [X, K2], [TOP2, AT2]) for v in (10, 11, 24)),
    *(Case("TopK", v, [X.T, K2], [TOP2.T, AT2.T], {"axis": -2}, "negative axis") for v in (10, 11, 24)),
    *(Case("TopK", v, [X, K2], [LOW2, LOW_AT2], {"largest": 0}, "smallest") for v in (11, 24)),
    *(Case("TopK", v, [X, K2], [TOP2, AT2], {"sorted": 0}, "any order will do") for v in (11, 24)),
    line([2, 7, 7, 2, 7], 4, [7, 7, 7, 2], [1, 2, 4, 0], "equals keep their order"),
    line([7, 2, 2, 7, 2], 4, [2, 2, 2, 7], [1, 2, 4, 0], "equals keep their order", 0),
    line([1, np.nan, 3, np.nan], 3, [np.nan, np.nan, 3], [1, 3, 2], "nan is the largest"),
    line([1, np.nan, 3, -np.inf], 4, [-np.inf, 1, 3, np.nan], [3, 0, 2, 1], "nan is the largest", 0),
    line([0.0, -0.0], 2, [0.0, -0.0], [0, 1], "zeros are equal"),
    line([1, 2], 0, [], [], "none"),
    line([], 0, [], [], "none of none"),
    Case("TopK", 11, [np.zeros((0, 3), np.float32), K2], [np.zeros((0, 2), np.float32), np.zeros((0, 2), np.int64)], label="no lines"),
    Case("TopK", 11, [i64([2**53, 2**53 + 1]), i64([1])], [i64([2**53 + 1]), i64([1])], label="int64 is exact"),
    Case("TopK", 11, [np.array([0, 200, 100], np.uint8), K2], [np.array([200, 100], np.uint8), i64([1, 2])], label="unsigned"),
    Case("TopK", 11, [np.array([-128, 127], np.int8), K2], [np.array([-128, 127], np.int8), i64([0, 1])], {"largest": 0}, "least integer"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [1, 10, 11, 24])
def test_every_element_type(version: int) -> None:
    for x in samples("TopK", version):
        k = ([x], {"k": 2}) if version == 1 else ([x, K2], {})
        assert_case(Case("TopK", version, k[0], [x[[2, 1]], i64([2, 1])], k[1]))


@given(st.lists(st.integers(0, 5), max_size=12), st.booleans(), st.data())
def test_order_is_by_value_and_then_by_index(values: list[int], largest: bool, data: st.DataObject) -> None:
    k = data.draw(st.integers(0, len(values)))
    sign = -1 if largest else 1
    expected = sorted(range(len(values)), key=lambda i: (sign * values[i], i))[:k]
    x: Array = np.array(values, np.int64)
    top, indices = select_top(x, k, 0, largest=largest)
    assert indices.tolist() == expected
    assert top.tolist() == [values[i] for i in expected]


def test_k_and_axis_that_do_not_fit_are_refused() -> None:
    assert_refused(
        Case("TopK", 11, [X, i64([5])], [X, X]), r"k must be in \[0, 4\], up to the size of axis 1; got 5"
    )
    assert_refused(
        Case("TopK", 11, [X, i64([-1])], [X, X]), r"k must be in \[0, 4\], up to the size of axis 1; got -1"
    )
    assert_refused(
        Case("TopK", 1, [X], [X, X], {"k": 5}), r"k must be in \[0, 4\], up to the size of axis 1; got 5"
    )
    assert_refused(Case("TopK", 10, [X, i64([1, 2])], [X, X]), r"k must have shape \[1\]")
    assert_refused(Case("TopK", 10, [X, i64(2)], [X, X]), r"k must have shape \[1\]")
    assert_refused(Case("TopK", 10, [X, K2], [X, X], {"axis": 2}), "axis 2 lies outside")


def test_k_is_in_both_shapes() -> None:
    def inferred_types(k: Dim) -> object:
        return infer_types(
            make_inference("TopK", 11, [floats(N, 8, M), ints(1)], {1: vec(k)}, axis=1, outputs=2)
        )

    assert inferred_types(3) == [floats(N, 3, M), ints(N, 3, M)]
    assert inferred_types(N * 2) == [floats(N, N * 2, M), ints(N, N * 2, M)]


def test_unknown_k_is_one_new_size() -> None:
    values, indices = infer_types(make_inference("TopK", 11, [floats(N, 8), ints(1)], outputs=2))
    assert str(values) == "float[N,new0]"
    assert str(indices) == "int64[N,new0]"


def test_attribute_k_and_unknown_inputs() -> None:
    assert infer_types(make_inference("TopK", 1, [floats(N, 8)], outputs=2, k=3)) == [
        floats(N, 3),
        ints(N, 3),
    ]
    assert infer_types(make_inference("TopK", 11, [TensorType(FLOAT), None])) == [
        TensorType(FLOAT),
        TensorType(INT64),
    ]
    assert infer_types(make_inference("TopK", 11, [None, None])) == [None, TensorType(DataType.INT64)]


def test_k_that_contradicts_the_shape_is_found() -> None:
    assert_contradiction(
        make_inference("TopK", 1, [floats(N, 2)], k=3), "k must be at most 2, the size of axis 1; got 3"
    )
    assert_contradiction(
        make_inference("TopK", 10, [floats(N, 2), ints(2)], {1: i64([1, 2])}), "a vector of one element"
    )
    assert_contradiction(
        make_inference("TopK", 10, [floats(N, 2), ints()], {1: i64(1)}), "a vector of one element"
    )
    assert_contradiction(make_inference("TopK", 10, [floats(N), ints(1)], axis=1), "axis 1")
