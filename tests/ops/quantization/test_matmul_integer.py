import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import Case, assert_case
from ops.control.node_inference import infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import symbol

U8, I8, I32 = np.uint8, np.int8, np.int32
A = np.array([[1, 2, 3], [4, 5, 6]], U8)
B = np.array([[1, 0], [0, 1], [2, 2]], I8)

CASES = [
    Case("MatMulInteger", 10, [A, B], [np.array([[7, 8], [16, 17]], I32)]),
    Case("MatMulInteger", 10, [A, B, np.array(1, U8)], [np.array([[4, 5], [13, 14]], I32)]),
    Case("MatMulInteger", 10, [A, B, None, np.array(1, I8)], [np.array([[1, 2], [1, 2]], I32)]),
    Case("MatMulInteger", 10, [A, B, np.array([1, 4], U8)], [np.array([[4, 5], [4, 5]], I32)], label="by row"),
    Case("MatMulInteger", 10, [A, B, np.array([[1], [4]], U8)], [np.array([[4, 5], [4, 5]], I32)], label="all axes"),
    Case("MatMulInteger", 10, [A, B, None, np.array([0, 1], I8)], [np.array([[7, 2], [16, 2]], I32)], label="by column"),
    Case("MatMulInteger", 10, [A, B, None, np.array([[0, 1]], I8)], [np.array([[7, 2], [16, 2]], I32)], label="all axes"),
    Case("MatMulInteger", 10, [A[None], np.stack([B, B]), np.array([[[1], [4]]], U8)],
         [np.array([[[4, 5], [4, 5]]] * 2, I32)], label="batches"),
    Case("MatMulInteger", 10, [A[0], B], [np.array([7, 8], I32)], label="a vector on the left"),
    Case("MatMulInteger", 10, [A, B[:, 0]], [np.array([7, 16], I32)], label="a vector on the right"),
    Case("MatMulInteger", 10, [A[0], B[:, 0], np.array([1], U8)], [np.array(4, I32)], label="two vectors"),
    Case("MatMulInteger", 10, [A[:, :0], B[:0]], [np.zeros((2, 2), I32)], label="nothing to sum up"),
    Case("MatMulInteger", 10, [np.zeros((1, 33200), U8), np.full((33200, 1), 255, U8), np.array(255, U8)],
         [np.array([[-255 * 255 * 33200 + 2**32]], np.int64).astype(I32)], label="sums wrap around"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(0, 5), st.integers(1, 4))
def test_sums_are_those_of_integers(seed: int, m: int, k: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 256, (m, k), U8), rng.integers(-128, 128, (k, n), I8)
    za, zb = rng.integers(0, 256, m, U8), rng.integers(-128, 128, n, I8)
    sums = [
        [sum((int(a[i, q]) - int(za[i])) * (int(b[q, j]) - int(zb[j])) for q in range(k)) for j in range(n)]
        for i in range(m)
    ]
    assert_case(Case("MatMulInteger", 10, [a, b, za, zb], [np.array(sums, I32).reshape(m, n)]))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([A, A], "a and b must agree in the reduced dimension; got shapes"),
        ([np.array(1, U8), B], "a and b must agree in the reduced dimension; got shapes"),
        (
            [A, B, np.zeros(3, U8)],
            r"a_zero_point must be a scalar or have shape \[2\] or \[2, 1\]; got shape \[3\]",
        ),
        (
            [A, B, None, np.zeros(3, I8)],
            r"b_zero_point must be a scalar or have shape \[2\] or \[1, 2\]; got shape \[3\]",
        ),
        ([A[0], B, np.zeros(3, U8)], r"a_zero_point must be a scalar; got shape \[3\]"),
    ],
)
def test_bad_shapes_are_refused(inputs: list[Array | None], message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(Case("MatMulInteger", 10, inputs, [...]))


def test_types_of_results() -> None:
    n, m, k = symbol("N"), symbol("M"), symbol("K")
    a, b = TensorType(DataType.UINT8, (n, m, k)), TensorType(DataType.INT8, (k, 4))
    assert infer_node("MatMulInteger", 10, [a, b]) == [TensorType(DataType.INT32, (n, m, 4))]
    assert infer_node("MatMulInteger", 10, [a, None]) == [TensorType(DataType.INT32)]
