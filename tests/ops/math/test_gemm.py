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
    infer_shape,
    make_inference,
    samples,
)
from sardonyx._src.ir import Array, TensorType

A = f32([[1, 2], [3, 4]])
B = f32([[5, 6, 7], [8, 9, 10]])
AB = f32([[21, 24, 27], [47, 54, 61]])
C = f32([[1, 0, -1], [2, 0, -2]])
HALF = {"alpha": 0.5}


def ints(*values: int) -> Array:
    return np.array([values], np.int32)


CASES = [
    *(Case("Gemm", v, [A, B, C], [AB + C]) for v in (1, 6, 7, 9, 11, 13)),
    *(Case("Gemm", v, [A, B, C[0]], [AB + C[0]], {"broadcast": 1}, "C broadcasts") for v in (1, 6)),
    *(Case("Gemm", v, [A, B, C[:, :1]], [AB + C[:, :1]], label="C is a column") for v in (7, 13)),
    Case("Gemm", 7, [A, B, f32(3)], [AB + 3], label="C is a scalar"),
    Case("Gemm", 9, [A, B, f32([3])], [AB + 3], label="C is one element"),
    Case("Gemm", 11, [A, B], [AB], label="no C"),
    Case("Gemm", 13, [A, B, None], [AB], label="C left out"),
    Case("Gemm", 13, [A.T, B, C], [AB + C], {"transA": 1}),
    Case("Gemm", 13, [A, B.T, C], [AB + C], {"transB": 1}),
    Case("Gemm", 1, [A.T, B.T, C], [AB + C], {"transA": 1, "transB": 1}),
    Case("Gemm", 13, [A, B, C], [AB / 2 + C * 4], {"alpha": 0.5, "beta": 4.0}),
    Case("Gemm", 13, [A, B], [AB / 2], HALF, "no C to add"),
    Case("Gemm", 13, [A, B, f32([np.inf, 0, 0])], [f32([[np.nan, 0, 0]] * 2) + AB], {"beta": 0.0}, "0 by inf"),
    Case("Gemm", 7, [A[:, :0], B[:0], C], [C], label="empty sums"),
    Case("Gemm", 7, [A[:0], B, C[0]], [AB[:0]], label="no rows"),
    Case("Gemm", 9, [ints(2**30), ints(2), ints(1)], [ints(1 - 2**31)], label="int32 wraps"),
    Case("Gemm", 9, [ints(3), ints(5), ints(7)], [ints(-16)], {"alpha": -2.0, "beta": 2.0}, "whole factors"),
    Case("Gemm", 9, [ints(3), ints(5), ints(1)], [ints(8)], HALF, "7.5 and 1 are cut to 8"),
    Case("Gemm", 11, [ints(3), ints(-5)], [ints(-7)], HALF, "-7.5 is cut to -7"),
    Case("Gemm", 9, [np.array([[2**62]])] * 2 + [np.array([[2**62 + 1]])], [np.array([[2**62 + 1]])], label="int64"),
    Case("Gemm", 9, [np.array([[3]], np.uint64)] * 2 + [np.array([[1]], np.uint64)],
         [np.array([[2**64 - 8]], np.uint64)], {"alpha": -1.0}, "uint64 wraps"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [1, 6, 7, 9, 11, 13])
def test_every_element_type(version: int) -> None:
    for x in samples("Gemm", version):
        ones = np.ones((1, 1), x.dtype)
        assert_case(Case("Gemm", version, [x[:, None], ones, x[:, None]], [(x + x)[:, None]]))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats_are_rounded_once(dtype: type) -> None:
    # 256 * 256 is past the end of float16, and 2**16 + 1 is no bfloat16: only the scaled sum is rounded
    a: Array = np.array([[256]], dtype)
    c: Array = np.array([[1]], dtype)
    assert_case(
        Case(
            "Gemm",
            13,
            [a, a, c],
            [np.array([[257 if dtype is np.float16 else 256]], dtype)],
            {"alpha": 1 / 256},
        )
    )


def test_what_does_not_fit_is_refused() -> None:
    assert_refused(Case("Gemm", 13, [A[0], B], [AB]), "got rank 1")
    assert_refused(
        Case("Gemm", 13, [A, B.T], [AB]),
        "A' must have one column for each row of B'; got 2 columns and 3 rows",
    )
    assert_refused(Case("Gemm", 13, [A, B, C.T], [AB]), r"C must broadcast to \[2, 3\]; got shape \[3, 2\]")
    assert_refused(
        Case("Gemm", 13, [A, B, C[None]], [AB]), r"C must broadcast to \[2, 3\]; got shape \[1, 2, 3\]"
    )
    assert_refused(Case("Gemm", 13, [A[:1], B, C], [AB]), r"C must broadcast to \[1, 3\]")
    assert_refused(Case("Gemm", 6, [A, B, C[0]], [AB]), "set broadcast=1 to broadcast it")
    assert_refused(Case("Gemm", 6, [A[0], B, C[0]], [AB]), "got rank 1")


def test_symbols_stay_in_the_shape() -> None:
    assert infer_shape(make_inference("Gemm", 13, [floats(N, 3), floats(3, M)])) == (N, M)
    assert infer_shape(make_inference("Gemm", 13, [floats(3, N), floats(M, 3)], transA=1, transB=1)) == (N, M)
    assert infer_shape(make_inference("Gemm", 13, [floats(N, 3), TensorType(FLOAT)])) == (N, None)
    assert infer_shape(make_inference("Gemm", 13, [TensorType(FLOAT), floats(3, 4), floats(2, 1)])) == (2, 4)
    assert infer_shape(make_inference("Gemm", 13, [TensorType(FLOAT), floats(3, 4), floats(1, 4)])) == (
        None,
        4,
    )
    assert infer_shape(make_inference("Gemm", 6, [floats(N, 3), floats(3, M), floats(2, None)])) == (2, M)
    assert infer_shape(make_inference("Gemm", 6, [floats(N, 3), floats(3, M), floats(5)], broadcast=1)) == (
        N,
        5,
    )


def test_sizes_that_contradict_each_other_are_found() -> None:
    assert_contradiction(make_inference("Gemm", 13, [floats(2, 3), floats(4, 2)]), "sizes 3 and 4")
    assert_contradiction(make_inference("Gemm", 13, [floats(2), None]), "got rank 1")
    assert_contradiction(
        make_inference("Gemm", 13, [floats(2, 3), floats(3, 2), floats(3, 2)]), "sizes 2 and 3"
    )
    assert_contradiction(
        make_inference("Gemm", 13, [floats(2, 3), floats(3, 2), floats(1, 2, 2)]),
        "C must broadcast to a matrix; got rank 3",
    )
    assert_contradiction(
        make_inference("Gemm", 6, [floats(2, 3), floats(3, 2), floats(2)]), "set broadcast=1 to broadcast it"
    )
    assert_contradiction(make_inference("Gemm", 6, [floats(2, 3), floats(3, 2), floats(1, 2)]), "rows")
