import numpy as np
import pytest

from cases import Case, check
from ops.tensor.questions import FLOAT, N, asked, contradicts, f32, floats, refused, samples, shape
from sardonyx._src.ir.types import TensorType

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
    check(case)


@pytest.mark.parametrize("version", [1, 11, 13, 28])
def test_every_element_type(version: int) -> None:
    for x in samples("DepthToSpace", version):
        check(
            Case("DepthToSpace", version, [x.reshape(1, 4, 1, 1)], [x.reshape(1, 1, 2, 2)], {"blocksize": 2})
        )


def test_refuses_what_does_not_fit() -> None:
    refused(Case("DepthToSpace", 13, [X], [...], {"blocksize": 3}), "a multiple of 3")
    refused(Case("DepthToSpace", 13, [X[0]], [...], {"blocksize": 2}), "where .N, C, H, W.")
    refused(Case("DepthToSpace", 13, [X], [...], {"blocksize": 0}), "shape")
    refused(Case("DepthToSpace", 13, [X], [...], {"blocksize": 2, "mode": "RDC"}), "mode is 'RDC'")
    contradicts(
        asked("DepthToSpace", 13, [floats(1, 9, 1, 1)], blocksize=2), "9 channels do not fill blocks of 2"
    )
    contradicts(asked("DepthToSpace", 13, [floats(1, 9, 1)], blocksize=2), "rank 3")
    contradicts(asked("DepthToSpace", 13, [floats(1, 9, 1, 1)], blocksize=0), "blocksize is 0")


def test_symbolic_sizes() -> None:
    assert shape(asked("DepthToSpace", 13, [floats(N, 8, N, None)], blocksize=2)) == (N, 2, 2 * N, None)
    assert shape(asked("DepthToSpace", 1, [floats(1, 4 * N, 1, 1)], blocksize=2)) == (1, N, 2, 2)
    assert shape(asked("DepthToSpace", 1, [TensorType(FLOAT)], blocksize=2)) == (None,) * 4
