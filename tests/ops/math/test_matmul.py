import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
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
from sardonyx._src.ops.api import RuntimeValue

A = f32([[1, 2], [3, 4]])
B = f32([[5, 6, 7], [8, 9, 10]])
AB = f32([[21, 24, 27], [47, 54, 61]])
VERSIONS = (1, 9, 13)


def case(a: RuntimeValue, b: RuntimeValue, result: Array, label: str, version: int = 13) -> Case:
    return Case("MatMul", version, [a, b], [result], label=label)


CASES = [
    *(Case("MatMul", v, [A, B], [AB]) for v in VERSIONS),
    case(f32([1, 2]), B, f32([21, 24, 27]), "row"),
    case(A, f32([1, -1]), f32([-1, -1]), "column"),
    case(f32([1, 2]), f32([3, 4]), f32(11), "row and column"),
    case(np.stack([A, -A]), B, np.stack([AB, -AB]), "batch of one side"),
    case(np.stack([A, -A])[:, None], np.stack([B, B]), np.stack([[AB, AB], [-AB, -AB]]), "batches broadcast"),
    case(np.stack([A, -A]), f32([1, -1]), f32([[-1, -1], [1, 1]]), "batch by a column"),
    case(np.zeros((2, 0), np.float32), np.zeros((0, 3), np.float32), np.zeros((2, 3), np.float32), "empty sums"),
    case(np.zeros((0, 2), np.float32), B, np.zeros((0, 3), np.float32), "no rows"),
    case(f32([[np.inf, 1]]), f32([[0], [1]]), f32([[np.nan]]), "infinity by zero"),
    case(np.array([[2**31 - 1]], np.int32), np.array([[2]], np.int32), np.array([[-2]], np.int32), "int32 wraps", 9),
    case(np.array([[2**32 - 1]], np.uint32), np.array([[2]], np.uint32), np.array([[2**32 - 2]], np.uint32), "uint32 wraps", 9),
    case(np.array([[2**62, 1]]), np.array([[1], [1]]), np.array([[2**62 + 1]]), "int64 is exact", 9),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_element_type(version: int) -> None:
    for x in samples("MatMul", version):
        ones = np.ones((4, 1), x.dtype)
        total = x.astype(np.float64).sum().astype(x.dtype)
        assert_case(Case("MatMul", version, [x[None], ones], [total.reshape(1, 1)]))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_narrow_floats_are_rounded_once(dtype: type) -> None:
    # 4096 ones and one 2048: added one by one in either type, the sum would stay at 2048 or below
    a: Array = np.ones((1, 4097), dtype)
    a[0, 0] = 2048
    assert_case(case(a, np.ones((4097, 1), dtype), np.array([[6144]], dtype), "long sum"))


def test_scalars_and_sizes_that_differ_are_refused() -> None:
    assert_refused(case(f32(2), A, A, ""), "scalar")
    assert_refused(
        case(A, A[:1], A, ""),
        r"A and B must agree in the reduced dimension; got shapes \[2, 2\] and \[1, 2\]",
    )
    assert_refused(
        case(f32([1, 2, 3]), A, A, ""),
        r"A and B must agree in the reduced dimension; got shapes \[3\] and \[2, 2\]",
    )


def test_symbols_stay_in_the_shape() -> None:
    def inferred_shape(a: TensorType, b: TensorType) -> object:
        return infer_shape(make_inference("MatMul", 13, [a, b]))

    assert inferred_shape(floats(N, 3, M), floats(M, 5)) == (N, 3, 5)
    assert inferred_shape(floats(N, 1, 3, 4), floats(M, 4, 5)) == (N, M, 3, 5)
    assert inferred_shape(floats(M), floats(N, M, 2)) == (N, 2)
    assert inferred_shape(floats(N, M), floats(M)) == (N,)
    assert inferred_shape(floats(N), floats(N)) == ()
    assert inferred_shape(floats(2, M), floats(N, 3)) == (2, 3)  # M and N may be the same
    assert inferred_shape(floats(None, 3), TensorType(floats().dtype)) is None


def test_sizes_that_contradict_each_other_are_found() -> None:
    assert_contradiction(make_inference("MatMul", 13, [floats(2, 3), floats(4, 2)]), "sizes 3 and 4")
    assert_contradiction(make_inference("MatMul", 13, [floats(2, 5, 3), floats(3, 3, 2)]), "sizes 2 and 3")
    assert_contradiction(make_inference("MatMul", 13, [floats(), None]), "scalar")
