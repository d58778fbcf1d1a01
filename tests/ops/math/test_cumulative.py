from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    M,
    N,
    assert_contradiction,
    assert_refused,
    f32,
    floats,
    i64,
    infer_elements,
    infer_shape,
    ints,
    make_inference,
    samples,
    vec,
)
from sardonyx._src.ir import TensorType
from sardonyx._src.ops.inference import Inference, Known

X = f32([[1, 2, 3], [4, 5, 6]])
ROWS = i64(1)
ALL = {"exclusive": 1, "reverse": 1}
VERSIONS = [("CumSum", 11), ("CumSum", 14), ("CumProd", 26)]

CASES = [
    *(Case("CumSum", v, [X, ROWS], [f32([[1, 3, 6], [4, 9, 15]])]) for v in (11, 14)),
    *(Case("CumSum", v, [X, i64(0)], [f32([[1, 2, 3], [5, 7, 9]])], label="columns") for v in (11, 14)),
    *(Case("CumSum", v, [X, i64(-1)], [f32([[0, 1, 3], [0, 4, 9]])], {"exclusive": 1}) for v in (11, 14)),
    *(Case("CumSum", v, [X, ROWS], [f32([[6, 5, 3], [15, 11, 6]])], {"reverse": 1}) for v in (11, 14)),
    *(Case("CumSum", v, [X, ROWS], [f32([[5, 3, 0], [11, 6, 0]])], ALL) for v in (11, 14)),
    Case("CumSum", 14, [X, np.array(-2, np.int32)], [f32([[4, 5, 6], [0, 0, 0]])], ALL, "int32 axis"),
    Case("CumSum", 14, [X, i64([1])], [f32([[1, 3, 6], [4, 9, 15]])], label="axis in a vector"),
    Case("CumSum", 14, [f32([1, np.inf, -np.inf, 0]), i64(0)], [f32([1, np.inf, np.nan, np.nan])], label="infinities"),
    Case("CumSum", 14, [f32([]), i64(0)], [f32([])], {"exclusive": 1}, "empty"),
    Case("CumSum", 14, [np.array([2**31 - 1, 1], np.int32), i64(0)], [np.array([2**31 - 1, -(2**31)], np.int32)], label="wraps"),
    Case("CumSum", 14, [np.array([2048, 1, 1], np.float16), i64(0)], [np.array([2048, 2048, 2050], np.float16)], label="float16 is rounded once"),
    Case("CumSum", 14, [np.array([256, 1, 1], ml_dtypes.bfloat16), i64(0)], [np.array([256, 256, 258], ml_dtypes.bfloat16)], label="bfloat16 is rounded once"),
    Case("CumProd", 26, [X, ROWS], [f32([[1, 2, 6], [4, 20, 120]])]),
    Case("CumProd", 26, [X, i64(0)], [f32([[1, 2, 3], [4, 10, 18]])], label="columns"),
    Case("CumProd", 26, [X, i64(-1)], [f32([[1, 1, 2], [1, 4, 20]])], {"exclusive": 1}),
    Case("CumProd", 26, [X, ROWS], [f32([[6, 6, 3], [120, 30, 6]])], {"reverse": 1}),
    Case("CumProd", 26, [X, ROWS], [f32([[6, 3, 1], [30, 6, 1]])], ALL),
    Case("CumProd", 26, [np.array([2**16, 2**16], np.uint32), i64(0)], [np.array([2**16, 0], np.uint32)], label="wraps"),
    Case("CumProd", 26, [np.array([256, 256, 1 / 256], np.float16), i64(0)], [np.array([256, np.inf, 256], np.float16)], label="beyond float16 and back"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(("op", "version"), VERSIONS)
def test_every_element_type(op: str, version: int) -> None:
    for x in samples(op, version):
        result = [1, 3] if op == "CumSum" else [1, 2]
        assert_case(Case(op, version, [x[:2], i64(0)], [np.array(result).astype(x.dtype)]))


@pytest.mark.parametrize(("op", "version"), VERSIONS)
def test_axes_that_do_not_fit_are_refused(op: str, version: int) -> None:
    assert_refused(Case(op, version, [X, i64(2)], [X]), "axis 2 lies outside of rank 2")
    assert_refused(Case(op, version, [X, i64([0, 1])], [X]), "axis must have one element; got 2")
    assert_refused(Case(op, version, [f32(1), i64(0)], [X]), "outside of rank 0")


def test_shape_is_kept_and_the_axis_is_checked() -> None:
    assert infer_shape(make_inference("CumSum", 14, [floats(N, M), ints()])) == (N, M)
    assert infer_shape(make_inference("CumProd", 26, [TensorType(FLOAT), ints()])) is None
    assert_contradiction(make_inference("CumSum", 11, [floats(N), ints()], {1: i64(1)}), "axis 1")
    assert_contradiction(
        make_inference("CumSum", 11, [floats(N), ints(2)], {1: i64([0, 0])}),
        "axis must have one element; got 2",
    )


def test_sizes_are_followed_as_expressions() -> None:
    def folded(op: str, version: int, x: Known, axis: int, **attributes: int) -> object:
        inference: Inference = make_inference(op, version, [ints(*x.shape), ints()], {0: x, 1: i64(axis)})
        return infer_elements(replace(inference, attributes={**inference.attributes, **attributes}))

    x = vec(N, 2, M)
    assert folded("CumSum", 14, x, 0) == [N, N + 2, N + M + 2]
    assert folded("CumSum", 11, x, 0, exclusive=1) == [0, N, N + 2]
    assert folded("CumSum", 14, x, -1, reverse=1) == [N + M + 2, M + 2, M]
    assert folded("CumSum", 14, vec(2, N), 0, exclusive=1) == [0, 2]
    assert folded("CumProd", 26, x, 0, reverse=1, exclusive=1) == [M * 2, M, 1]
    assert folded("CumSum", 14, vec(1, None, M), 0) == [1, None, None]
    square = np.array([[N, 1], [2, M]], object)
    assert folded("CumSum", 14, square, 0) == [[N, 1], [N + 2, M + 1]]
    assert folded("CumSum", 14, square, 1) == [[N, N + 1], [2, M + 2]]


def test_nothing_is_known_without_the_axis() -> None:
    assert infer_elements(make_inference("CumSum", 14, [ints(2), ints()], {0: vec(N, 2)})) is None
