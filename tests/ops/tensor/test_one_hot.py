import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    N,
    assert_contradiction,
    assert_refused,
    assert_too_large,
    f32,
    floats,
    i64,
    infer_shape,
    infer_types,
    ints,
    make_inference,
    samples,
    strs,
    vec,
)
from sardonyx._src.ir import TensorType

OFF_ON = f32([2, 5])
THREE = i64(3)
FIRST, LAST, NONE = [5, 2, 2], [2, 2, 5], [2, 2, 2]

CASES = [
    *(Case("OneHot", v, [i64([0, 2]), THREE, OFF_ON], [f32([FIRST, LAST])]) for v in (9, 11, 28)),
    Case("OneHot", 9, [i64([0, 2]), THREE, OFF_ON], [f32([[5, 2], [2, 2], [2, 5]])], {"axis": 0}, "axis 0"),
    Case("OneHot", 11, [i64([0, 2]), THREE, OFF_ON], [f32([[5, 2], [2, 2], [2, 5]])], {"axis": -2}, "axis -2"),
    Case("OneHot", 11, [i64([[1]]), i64(2), OFF_ON], [f32([[[2], [5]]])], {"axis": 1}, "axis between"),
    Case("OneHot", 9, [i64([-1, 3]), THREE, OFF_ON], [f32([NONE, NONE])], label="out of range is off"),
    Case("OneHot", 11, [i64([-1, -3, -4, 3]), THREE, OFF_ON], [f32([LAST, FIRST, NONE, NONE])], label="from the back"),
    Case("OneHot", 28, [i64(1), i64([2]), OFF_ON], [f32([2, 5])], label="scalar index, depth of rank 1"),
    Case("OneHot", 11, [f32([1.9, -0.9, np.nan]), f32(3.7), OFF_ON], [f32([[2, 5, 2], FIRST, NONE])], label="floats"),
    Case("OneHot", 11, [np.array([2**64 - 1, 1], np.uint64), i64(2), OFF_ON], [f32([[2, 2], [2, 5]])], label="uint64"),
    Case("OneHot", 9, [f32([-0.5, -1.0]), THREE, OFF_ON], [f32([FIRST, NONE])], label="cut off towards zero"),
    Case("OneHot", 11, [np.array([255], np.uint8), np.array(300, np.int16), i64([0, 1])],
         [(np.arange(300) == 255).astype(np.int64)[None]], label="depth beyond the type of the indices"),
    Case("OneHot", 11, [i64([0]), i64(2), strs(["off", "on"])], [strs([["on", "off"]])], label="strings"),
    Case("OneHot", 11, [i64([0]), i64(0), OFF_ON], [np.zeros((1, 0), np.float32)], label="depth 0"),
    Case("OneHot", 11, [i64([]), i64(2), OFF_ON], [np.zeros((0, 2), np.float32)], label="no index"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [9, 11, 28])
def test_every_type_of_indices_depth_and_values(version: int) -> None:
    for x in samples("OneHot", version, 2):
        assert_case(Case("OneHot", version, [i64([1]), i64(3), x[:2]], [x[[0, 1, 0]].reshape(1, 3)]))
    for x in samples("OneHot", version, 0):
        two = np.array(2, x.dtype)
        assert_case(Case("OneHot", version, [x[:1], two, OFF_ON], [f32([[2, 5]])]))


def test_refuses_what_does_not_fit() -> None:
    assert_refused(Case("OneHot", 11, [i64([0]), i64(-1), OFF_ON], [...]), "depth must be >= 0; got -1")
    assert_refused(
        Case("OneHot", 11, [i64([0]), i64([1, 2]), OFF_ON], [...]),
        r"depth must have one element and values shape \[2\]; got 2 and \[2\]",
    )
    assert_refused(
        Case("OneHot", 11, [i64([0]), i64(1), f32([1, 2, 3])], [...]),
        r"depth must have one element and values shape \[2\]; got 1 and \[3\]",
    )
    assert_refused(
        Case("OneHot", 11, [i64([0]), i64(1), OFF_ON], [...], {"axis": 2}), "axis 2 lies outside of rank 2"
    )
    assert_too_large(Case("OneHot", 11, [i64([0]), i64(1 << 40), OFF_ON], [...]))
    assert_contradiction(
        make_inference("OneHot", 11, [ints(1), ints(), floats(2)], {1: i64(-1)}), "depth must be >= 0; got -1"
    )


def test_symbolic_sizes() -> None:
    assert infer_shape(make_inference("OneHot", 11, [ints(N, 4), ints(), floats(2)], {1: i64(3)})) == (
        N,
        4,
        3,
    )
    assert infer_shape(make_inference("OneHot", 11, [ints(4), ints(1), floats(2)], {1: vec(N)}, axis=0)) == (
        N,
        4,
    )
    assert infer_shape(make_inference("OneHot", 9, [ints(4), ints(), floats(2)])) == (4, None)
    assert infer_shape(make_inference("OneHot", 9, [ints(4), None, floats(2)])) == (4, None)
    assert infer_types(make_inference("OneHot", 11, [None, ints(), floats(2)])) == [TensorType(FLOAT)]
