import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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

# Two channels of 2 by 2 pixels: eight channels of one pixel.
X = f32([[[[0, 1], [2, 3]], [[4, 5], [6, 7]]]])
DCR = f32([0, 4, 1, 5, 2, 6, 3, 7]).reshape(1, 8, 1, 1)
CRD = f32([0, 1, 2, 3, 4, 5, 6, 7]).reshape(1, 8, 1, 1)

CASES = [
    *(Case("SpaceToDepth", v, [X], [DCR], {"blocksize": 2}) for v in (1, 13, 28)),
    Case("SpaceToDepth", 28, [X], [CRD], {"blocksize": 2, "mode": "CRD"}, "CRD"),
    Case("SpaceToDepth", 13, [X], [X], {"blocksize": 1}, "blocks of one"),
    Case("SpaceToDepth", 13, [X[:, :, :0]], [np.zeros((1, 8, 0, 1), np.float32)], {"blocksize": 2}, "empty"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [1, 13, 28])
def test_every_element_type(version: int) -> None:
    for x in samples("SpaceToDepth", version):
        assert_case(
            Case("SpaceToDepth", version, [x.reshape(1, 1, 2, 2)], [x.reshape(1, 4, 1, 1)], {"blocksize": 2})
        )


def test_refuses_what_does_not_fit() -> None:
    assert_refused(Case("SpaceToDepth", 13, [X], [...], {"blocksize": 3}), "multiples of 3")
    assert_refused(Case("SpaceToDepth", 13, [X[:, :, :1]], [...], {"blocksize": 2}), "multiples of 2")
    assert_refused(Case("SpaceToDepth", 13, [X[..., :1]], [...], {"blocksize": 2}), "multiples of 2")
    assert_refused(
        Case("SpaceToDepth", 13, [X[0]], [...], {"blocksize": 2}), r"the input must .*; got \[2, 2, 2\]"
    )
    assert_contradiction(
        make_inference("SpaceToDepth", 13, [floats(1, 1, 3, 4)], blocksize=2),
        "height and width must be multiples of blocksize 2; got 3",
    )
    assert_contradiction(make_inference("SpaceToDepth", 13, [floats(1, 1, 3)], blocksize=2), "rank 3")
    assert_contradiction(
        make_inference("SpaceToDepth", 13, [floats(1, 1, 2, 2)], blocksize=0), "blocksize must be >= 1; got 0"
    )


def test_symbolic_sizes() -> None:
    assert infer_shape(make_inference("SpaceToDepth", 13, [floats(N, 2, 4 * N, None)], blocksize=2)) == (
        N,
        8,
        2 * N,
        None,
    )
    assert infer_shape(make_inference("SpaceToDepth", 1, [TensorType(FLOAT)], blocksize=2)) == (None,) * 4


@given(st.sampled_from(["DCR", "CRD"]), st.integers(1, 3), st.integers(1, 2))
def test_depth_to_space_undoes_it(mode: str, blocksize: int, channels: int) -> None:
    deep = np.arange(channels * blocksize**2 * 6, dtype=np.int64).reshape(1, -1, 2, 3)
    wide = np.empty((1, channels, 2 * blocksize, 3 * blocksize), np.int64)
    for c, i, j in np.ndindex(channels, blocksize, blocksize):
        source = (i * blocksize + j) * channels + c if mode == "DCR" else (c * blocksize + i) * blocksize + j
        wide[0, c, i::blocksize, j::blocksize] = deep[0, source]
    assert_case(Case("SpaceToDepth", 28, [wide], [deep], {"blocksize": blocksize, "mode": mode}))
    assert_case(Case("DepthToSpace", 28, [deep], [wide], {"blocksize": blocksize, "mode": mode}))
