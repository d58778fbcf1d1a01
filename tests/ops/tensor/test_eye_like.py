import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    INT64,
    N,
    assert_contradiction,
    assert_refused,
    f32,
    floats,
    i64,
    infer_types,
    make_inference,
    samples,
)
from sardonyx._src.ir import TensorType

X = np.zeros((2, 3), np.float32)

CASES = [
    *(Case("EyeLike", v, [X], [f32([[1, 0, 0], [0, 1, 0]])]) for v in (9, 22)),
    Case("EyeLike", 9, [X], [i64([[0, 1, 0], [0, 0, 1]])], {"k": 1, "dtype": 7}, "above, dtype"),
    Case(
        "EyeLike", 9, [X], [np.array([[0, 0, 0], [1, 0, 0]], np.bool_)], {"k": -1, "dtype": 9}, "below, bool"
    ),
    Case("EyeLike", 22, [X], [X], {"k": 3}, "beyond the columns"),
    Case("EyeLike", 22, [X], [X], {"k": -(2**63)}, "far below"),
    Case("EyeLike", 22, [np.zeros((0, 2), np.float32)], [np.zeros((0, 2), np.float32)], label="empty"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [9, 22])
def test_every_element_type(version: int) -> None:
    for x in samples("EyeLike", version):
        eye = np.array([[1, 0], [0, 1]], np.float32).astype(x.dtype)
        assert_case(Case("EyeLike", version, [x.reshape(2, 2)], [eye]))


def test_refuses_what_is_no_matrix() -> None:
    assert_refused(Case("EyeLike", 9, [f32([1])], [...]), "the input must be a matrix; got rank 1")
    assert_contradiction(
        make_inference("EyeLike", 9, [floats(1, 2, 3)]), "the input must be a matrix; got rank 3"
    )


def test_types() -> None:
    assert infer_types(make_inference("EyeLike", 9, [floats(N, 3)], dtype=7)) == [TensorType(INT64, (N, 3))]
    assert infer_types(make_inference("EyeLike", 22, [TensorType(FLOAT)])) == [floats(None, None)]
    assert infer_types(make_inference("EyeLike", 22, [None])) == [None]
