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
    i64,
    infer_types,
    ints,
    make_inference,
    samples,
)
from sardonyx._src.ir import TensorType

CACHE = f32([[[1], [2], [3]], [[4], [5], [6]]])  # two samples of three places of one number
ONE = f32([[[7]], [[8]]])
TWO = f32([[[7], [8]], [[9], [0]]])
HEADS = f32([[[[1], [2]], [[3], [4]]]])  # one sample, two heads, two places

CASES = [
    Case("TensorScatter", 24, [CACHE, TWO], [f32([[[7], [8], [3]], [[9], [0], [6]]])], label="prefill"),
    Case("TensorScatter", 24, [CACHE, -CACHE], [-CACHE], label="all of it"),
    Case("TensorScatter", 24, [CACHE, ONE, i64([2, 0])], [f32([[[1], [2], [7]], [[8], [5], [6]]])], label="by sample"),
    Case("TensorScatter", 24, [CACHE, TWO, i64([2, 1])], [f32([[[8], [2], [7]], [[4], [9], [0]]])], {"mode": "circular"}),
    Case("TensorScatter", 24, [CACHE, ONE, i64([7, -1])], [f32([[[1], [7], [3]], [[4], [5], [8]]])], {"mode": "circular"}, "far"),
    Case("TensorScatter", 24, [CACHE[..., 0], ONE[..., 0], i64([1, 2])], [f32([[1, 7, 3], [4, 5, 8]])], {"axis": 1}, "axis 1"),
    Case("TensorScatter", 24, [HEADS, f32([[[[7]], [[8]]]]), i64([1])], [f32([[[[1], [7]], [[3], [8]]]])], label="heads"),
    Case("TensorScatter", 24, [CACHE, CACHE[:, :0], i64([3, 0])], [CACHE], label="nothing to write"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_every_element_type_and_the_cache_stays_as_it_is() -> None:
    for x in samples("TensorScatter", 24):
        expected = x[[0, 1, 0, 3]].reshape(1, 4, 1)
        assert_case(
            Case("TensorScatter", 24, [x.reshape(1, 4, 1), x[:1].reshape(1, 1, 1), i64([2])], [expected])
        )


def test_refuses_what_does_not_fit() -> None:
    assert_refused(
        Case("TensorScatter", 24, [CACHE, TWO, i64([2, 0])], [...]),
        r"write_indices plus 2 entries must fit a cache of 3; got \[2, 0\]",
    )
    assert_refused(
        Case("TensorScatter", 24, [CACHE, ONE, i64([-1, 0])], [...]),
        r"write_indices plus 1 entries must fit a cache of 3; got \[-1, 0\]",
    )
    assert_refused(
        Case("TensorScatter", 24, [CACHE, ONE, i64([0])], [...]), "write_indices must .*; got 1 and 1"
    )
    assert_refused(
        Case("TensorScatter", 24, [CACHE, np.zeros((2, 4, 1), np.float32)], [...]),
        "write_indices must .*; got 2 and 4",
    )
    assert_refused(
        Case("TensorScatter", 24, [CACHE, ONE[:1]], [...]),
        r"update and past_cache must .*; got \[1, 1, 1\] and \[2, 3, 1\]",
    )
    assert_refused(Case("TensorScatter", 24, [CACHE, ONE], [...], {"axis": 0}), "must agree except in axis 0")


def test_the_type_is_that_of_the_cache() -> None:
    assert infer_types(make_inference("TensorScatter", 24, [floats(N, 8, 4), floats(2, 1, 4)])) == [
        floats(2, 8, 4)
    ]
    assert infer_types(make_inference("TensorScatter", 24, [TensorType(FLOAT), floats(2, 1, 4)])) == [
        TensorType(FLOAT)
    ]
    assert_contradiction(
        make_inference("TensorScatter", 24, [floats(N, 8, 4), floats(2, 1, 5), ints(2)]), "sizes 4 and 5"
    )
    assert_contradiction(
        make_inference("TensorScatter", 24, [floats(N, 8, 4), floats(2, 1)]),
        "past_cache and update must have the same rank; got 3 and 2",
    )
    assert_contradiction(
        make_inference("TensorScatter", 24, [floats(N, 8), floats(N, 8)], axis=0),
        "axis must not be 0, the batch",
    )
