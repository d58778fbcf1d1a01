import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    M,
    N,
    assert_contradiction,
    assert_refused,
    f32,
    floats,
    i64,
    infer_elements,
    infer_shape,
    ints,
    make_inference,
    samples,
)
from sardonyx._src.ir import Attribute, TensorType
from sardonyx._src.ir.attributes import AttributeType

VERSIONS = (1, 13, 21, 23, 24, 25)
X = np.arange(6, dtype=np.float32).reshape(1, 2, 3)

CASES = [
    *(Case("Transpose", v, [f32([[1, 2, 3], [4, 5, 6]])], [f32([[1, 4], [2, 5], [3, 6]])]) for v in VERSIONS),
    Case("Transpose", 1, [X], [f32([[[0], [3]], [[1], [4]], [[2], [5]]])], {"perm": [2, 1, 0]}, "all axes"),
    Case("Transpose", 13, [X], [f32([[[0, 1, 2]], [[3, 4, 5]]])], {"perm": [1, 0, 2]}, "some axes"),
    Case("Transpose", 13, [X], [f32([[[0], [1], [2]], [[3], [4], [5]]])], {"perm": [1, 2, 0]}, "rotation"),
    Case("Transpose", 1, [f32(3)], [f32(3)], label="scalar"),
    Case(
        "Transpose",
        1,
        [f32(3)],
        [f32(3)],
        {"perm": Attribute("perm", AttributeType.INTS, ())},
        "scalar, empty perm",
    ),
    Case("Transpose", 1, [f32([1, 2])], [f32([1, 2])], label="vector"),
    Case("Transpose", 25, [np.zeros((2, 0), np.float32)], [np.zeros((0, 2), np.float32)], label="empty"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_element_type(version: int) -> None:
    for x in samples("Transpose", version):
        y = x[[0, 2, 1, 3]].reshape(2, 2, 1)
        assert_case(Case("Transpose", version, [x.reshape(2, 2, 1)], [y], {"perm": [1, 0, 2]}))


@pytest.mark.parametrize("perm", [[0, 0], [0], [0, 2], [-1, 0], [0, 1, 2]])
def test_refuses_what_is_no_permutation(perm: list[int]) -> None:
    assert_refused(
        Case("Transpose", 13, [np.zeros((2, 3), np.float32)], [...], {"perm": perm}),
        "must be a permutation of the axes 0 to 1",
    )
    assert_contradiction(
        make_inference("Transpose", 13, [floats(2, 3)], perm=tuple(perm)),
        "must be a permutation of the axes 0 to 1",
    )


def test_symbols_change_places() -> None:
    assert infer_shape(make_inference("Transpose", 13, [floats(N, M, None)], perm=(2, 0, 1))) == (None, N, M)
    assert infer_shape(make_inference("Transpose", 13, [floats(N, M)])) == (M, N)
    assert infer_shape(make_inference("Transpose", 13, [TensorType(FLOAT)], perm=(1, 0))) == (None, None)
    assert infer_shape(make_inference("Transpose", 13, [TensorType(FLOAT)])) is None


def test_known_elements_change_places() -> None:
    known = np.array([[N, 1], [2, M]], np.object_)
    assert infer_elements(make_inference("Transpose", 13, [ints(2, 2)], {0: known})) == [[N, 2], [1, M]]
    assert infer_elements(
        make_inference("Transpose", 13, [ints(2, 2)], {0: i64([[1, 2], [3, 4]])}, perm=(0, 1))
    ) == [
        [1, 2],
        [3, 4],
    ]


@given(st.permutations(range(3)))
def test_the_inverse_permutation_undoes_it(perm: list[int]) -> None:
    x = np.arange(24).reshape(2, 3, 4)
    back = [perm.index(i) for i in range(3)]
    y = np.empty([x.shape[axis] for axis in perm], np.int64)
    for place in np.ndindex(x.shape):
        y[tuple(place[axis] for axis in perm)] = x[place]
    assert_case(Case("Transpose", 13, [x], [y], {"perm": perm}))
    assert_case(Case("Transpose", 13, [y], [x], {"perm": back}))
