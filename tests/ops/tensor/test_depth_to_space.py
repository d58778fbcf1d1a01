import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    N,
    assert_contradiction,
    assert_refused,
    f32,
    floats,
    infer_shape,
    make_inference,
    samples,
)
from sardonyx._src.ir import TensorType

# Eight channels of one pixel: two channels are left.
X = np.arange(8, dtype=np.float32).reshape(1, 8, 1, 1)
DCR = f32([[[[0, 2], [4, 6]], [[1, 3], [5, 7]]]])  # place (i, j) of channel c was channel 4i + 2j + c
CRD = f32([[[[0, 1], [2, 3]], [[4, 5], [6, 7]]]])  # place (i, j) of channel c was channel 4c + 2i + j
WIDE = f32([[[[0, 1]], [[2, 3]], [[4, 5]], [[6, 7]]]])

CASES = [
    *(Case("DepthToSpace", v, [X], [DCR], {"blocksize": 2}) for v in (1, 11, 13, 28)),
    *(Case("DepthToSpace", v, [X], [CRD], {"blocksize": 2, "mode": "CRD"}, "CRD") for v in (11, 13, 28)),
    Case("DepthToSpace", 1, [WIDE], [f32([[[[0, 2, 1, 3], [4, 6, 5, 7]]]])], {"blocksize": 2}, "two pixels"),
    Case("DepthToSpace", 13, [X], [X], {"blocksize": 1}, "blocks of one"),
    Case("DepthToSpace", 13, [X[:0]], [np.zeros((0, 2, 2, 2), np.float32)], {"blocksize": 2}, "empty"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [1, 11, 13, 28])
def test_every_element_type(version: int) -> None:
    for x in samples("DepthToSpace", version):
        assert_case(
            Case("DepthToSpace", version, [x.reshape(1, 4, 1, 1)], [x.reshape(1, 1, 2, 2)], {"blocksize": 2})
        )


def test_refuses_what_does_not_fit() -> None:
    assert_refused(Case("DepthToSpace", 13, [X], [...], {"blocksize": 3}), "a multiple of 3")
    assert_refused(
        Case("DepthToSpace", 13, [X[0]], [...], {"blocksize": 2}), r"the input must .*; got \[8, 1, 1\]"
    )
    assert_contradiction(
        make_inference("DepthToSpace", 13, [floats(1, 9, 1, 1)], blocksize=2),
        "channels must be a multiple of blocksize 2 squared; got 9",
    )
    assert_contradiction(make_inference("DepthToSpace", 13, [floats(1, 9, 1)], blocksize=2), "rank 3")
    assert_contradiction(
        make_inference("DepthToSpace", 13, [floats(1, 9, 1, 1)], blocksize=0), "blocksize must be >= 1; got 0"
    )


def test_symbolic_sizes() -> None:
    assert infer_shape(make_inference("DepthToSpace", 13, [floats(N, 8, N, None)], blocksize=2)) == (
        N,
        2,
        2 * N,
        None,
    )
    assert infer_shape(make_inference("DepthToSpace", 1, [floats(1, 4 * N, 1, 1)], blocksize=2)) == (
        1,
        N,
        2,
        2,
    )
    assert infer_shape(make_inference("DepthToSpace", 1, [TensorType(FLOAT)], blocksize=2)) == (None,) * 4
