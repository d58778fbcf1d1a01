import numpy as np
import pytest

from cases import Case, check
from ops.tensor.questions import FLOAT, N, asked, contradicts, f32, floats, i64, ints, refused, samples, types
from sardonyx._src.ir.types import TensorType

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
    check(case)


def test_every_element_type_and_the_cache_stays_as_it_is() -> None:
    for x in samples("TensorScatter", 24):
        expected = x[[0, 1, 0, 3]].reshape(1, 4, 1)
        check(Case("TensorScatter", 24, [x.reshape(1, 4, 1), x[:1].reshape(1, 1, 1), i64([2])], [expected]))


def test_refuses_what_does_not_fit() -> None:
    refused(Case("TensorScatter", 24, [CACHE, TWO, i64([2, 0])], [...]), "reach out of a cache of 3")
    refused(Case("TensorScatter", 24, [CACHE, ONE, i64([-1, 0])], [...]), "reach out of a cache of 3")
    refused(Case("TensorScatter", 24, [CACHE, ONE, i64([0])], [...]), "1 write_indices and 1 entries")
    refused(
        Case("TensorScatter", 24, [CACHE, np.zeros((2, 4, 1), np.float32)], [...]),
        "4 entries, where the batch",
    )
    refused(Case("TensorScatter", 24, [CACHE, ONE[:1]], [...]), "may differ in axis 1 alone")
    refused(Case("TensorScatter", 24, [CACHE, ONE], [...], {"axis": 0}), "which may not be 0")
    refused(Case("TensorScatter", 24, [CACHE, ONE], [...], {"mode": "ring"}), "mode is 'ring'")


def test_the_type_is_that_of_the_cache() -> None:
    assert types(asked("TensorScatter", 24, [floats(N, 8, 4), floats(2, 1, 4)])) == [floats(2, 8, 4)]
    assert types(asked("TensorScatter", 24, [TensorType(FLOAT), floats(2, 1, 4)])) == [TensorType(FLOAT)]
    contradicts(asked("TensorScatter", 24, [floats(N, 8, 4), floats(2, 1, 5), ints(2)]), "sizes 4 and 5")
    contradicts(asked("TensorScatter", 24, [floats(N, 8, 4), floats(2, 1)]), "rank 3 and update rank 2")
    contradicts(asked("TensorScatter", 24, [floats(N, 8), floats(N, 8)], axis=0), "axis 0 is the batch")
