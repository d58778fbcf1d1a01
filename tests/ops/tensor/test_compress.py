import numpy as np
import pytest

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    M,
    N,
    assert_refused,
    f32,
    floats,
    infer_elements,
    infer_shape,
    infer_types,
    ints,
    make_inference,
    samples,
    vec,
)
from sardonyx._src.errors import InferenceError
from sardonyx._src.ir import TensorType

X = f32([[1, 2], [3, 4], [5, 6]])


def flags(*values: bool) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    return np.array(values, np.bool_)


CASES = [
    *(
        Case("Compress", v, [X, flags(False, True, True)], [f32([[3, 4], [5, 6]])], {"axis": 0})
        for v in (9, 11, 28)
    ),
    Case("Compress", 9, [X, flags(False, True)], [f32([[2], [4], [6]])], {"axis": 1}, "axis 1"),
    Case("Compress", 11, [X, flags(True)], [f32([[1], [3], [5]])], {"axis": -1}, "from the back, too short"),
    Case("Compress", 9, [X, flags(False, True, False, False, True)], [f32([2, 5])], label="flattened"),
    Case("Compress", 11, [X, flags()], [f32([])], label="empty condition"),
    Case(
        "Compress",
        11,
        [X, flags(False, False, False)],
        [np.zeros((0, 2), np.float32)],
        {"axis": 0},
        "all False",
    ),
    Case("Compress", 11, [f32(7), flags(True)], [f32([7])], label="scalar"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [9, 11, 28])
def test_every_element_type(version: int) -> None:
    for x in samples("Compress", version):
        assert_case(Case("Compress", version, [x, flags(True, False, True)], [x[[0, 2]]]))


def test_refuses_conditions_that_do_not_fit() -> None:
    assert_refused(
        Case("Compress", 11, [X, flags(*[True] * 4)], [...], {"axis": 0}),
        r"condition must be a vector of at most 3 entries; got shape \[4\]",
    )
    assert_refused(
        Case("Compress", 11, [X, flags(True).reshape(1, 1)], [...]), r"condition must .*; got shape \[1, 1\]"
    )
    assert_refused(Case("Compress", 11, [X, flags(True)], [...], {"axis": 2}), "axis 2 lies outside")


def test_the_condition_decides_the_size() -> None:
    boolean = make_inference("Compress", 9, []).new_dim()
    assert infer_shape(make_inference("Compress", 11, [floats(N, M), None], axis=0)) == (boolean, M)
    assert infer_shape(make_inference("Compress", 11, [floats(N, M), None])) == (boolean,)
    assert infer_shape(
        make_inference("Compress", 11, [floats(N, M), None], {1: flags(True, False, True)}, axis=-1)
    ) == (
        N,
        2,
    )
    assert infer_types(make_inference("Compress", 11, [TensorType(FLOAT), None], axis=1)) == [
        TensorType(FLOAT)
    ]


def test_known_elements_are_picked() -> None:
    assert infer_elements(
        make_inference("Compress", 11, [ints(2), None], {0: vec(N, 3), 1: flags(True, False)})
    ) == [N]
    assert infer_elements(
        make_inference("Compress", 11, [ints(2), None], {0: vec(N, 3), 1: flags(False, True)}, axis=0)
    ) == [3]
    assert infer_elements(make_inference("Compress", 11, [ints(2), None], {0: vec(N, 3)})) is None
    with pytest.raises(InferenceError, match="at most 2 entries"):
        infer_elements(
            make_inference("Compress", 11, [ints(2), None], {0: vec(N, 3), 1: flags(True, True, True)})
        )
