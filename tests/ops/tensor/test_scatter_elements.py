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
    i64,
    infer_elements,
    infer_types,
    ints,
    make_inference,
    samples,
    strs,
    vec,
)

ZEROS = np.zeros((3, 3), np.float32)
INDICES = i64([[1, 0, 2], [0, 2, 1]])
UPDATES = f32([[1.0, 1.1, 1.2], [2.0, 2.1, 2.2]])
WRITTEN = f32([[2.0, 1.1, 0], [1.0, 0, 2.2], [0, 2.1, 1.2]])
LINE = f32([[1, 2, 3, 4, 5]])
BF16, F16 = ml_dtypes.bfloat16, np.float16
TWICE = i64([1, 1])
PAIR = f32([2, 3])


def reduction_case(
    reduction: str, data: object, updates: object, expected: object, version: int = 18
) -> Case:
    """Both updates go to the last of two elements."""
    arrays = [x if isinstance(x, np.ndarray) else f32(x) for x in (data, updates, expected)]
    return Case(
        "ScatterElements",
        version,
        [arrays[0], TWICE, arrays[1]],
        [arrays[2]],
        {"reduction": reduction},
        reduction,
    )


CASES = [
    Case("Scatter", 9, [ZEROS, INDICES, UPDATES], [WRITTEN]),
    Case(
        "Scatter",
        9,
        [LINE, i64([[1, 3]]), f32([[1.5, 2.5]])],
        [f32([[1, 1.5, 3, 2.5, 5]])],
        {"axis": 1},
        "axis 1",
    ),
    Case(
        "Scatter", 11, [LINE, i64([[-1]]), f32([[9]])], [f32([[1, 2, 3, 4, 9]])], {"axis": -1}, "deprecated"
    ),
    *(Case("ScatterElements", v, [ZEROS, INDICES, UPDATES], [WRITTEN]) for v in (11, 13, 16, 18)),
    Case(
        "ScatterElements",
        11,
        [LINE, i64([[1, 3]]), f32([[7, 8]])],
        [f32([[1, 7, 3, 8, 5]])],
        {"axis": 1},
        "axis 1",
    ),
    Case(
        "ScatterElements",
        13,
        [LINE, i64([[-2]]), f32([[7]])],
        [f32([[1, 2, 3, 7, 5]])],
        {"axis": -1},
        "from the back",
    ),
    Case(
        "ScatterElements",
        13,
        [ZEROS, np.zeros((0, 3), np.int64), np.zeros((0, 3), np.float32)],
        [ZEROS],
        label="none",
    ),
    reduction_case("add", [1, 1], [2, 3], [1, 6], 16),
    reduction_case("mul", [1, 4], [2, 3], [1, 24], 16),
    reduction_case("add", [1, 1], [2, 3], [1, 6]),
    reduction_case("mul", [1, 4], [2, 3], [1, 24]),
    reduction_case("max", [1, 1], [2, -3], [1, 2]),
    reduction_case("min", [1, 1], [2, -3], [1, -3]),
    reduction_case("max", [1, 1], [2, np.nan], [1, np.nan]),
    reduction_case(
        "add", np.array([0, 100], np.int8), np.array([100, 100], np.int8), np.array([0, 44], np.int8)
    ),
    # Each sum alone would round 2048 + 1 back to 2048 in float16, 256 + 1 back to 256 in bfloat16.
    reduction_case("add", np.array([0, 2048], F16), np.array([1, 1], F16), np.array([0, 2050], F16)),
    reduction_case("add", np.array([0, 256], BF16), np.array([1, 1], BF16), np.array([0, 258], BF16)),
    reduction_case("add", np.array([False, False]), np.array([True, True]), np.array([False, True])),
    reduction_case("mul", np.array([0, 1j]), np.array([1j, 2]), np.array([0, -2 + 0j])),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("op", "version"), [("Scatter", 9), ("Scatter", 11)] + [("ScatterElements", v) for v in (11, 13, 16, 18)]
)
def test_every_element_type_and_the_data_stay_as_they_are(op: str, version: int) -> None:
    for x in samples(op, version):
        assert_case(Case(op, version, [x, np.array([2, -1], np.int32), x[:2]], [x[[0, 1, 0, 1]]]))


def test_refuses_what_does_not_fit() -> None:
    assert_refused(
        Case("ScatterElements", 13, [LINE, i64([[5]]), f32([[1]])], [...], {"axis": 1}),
        r"indices must be in \[-5, 5\); got 5",
    )
    assert_refused(
        Case("ScatterElements", 13, [LINE, i64([[1]]), f32([[1, 2]])], [...], {"axis": 1}),
        r"indices and updates must .*; got data, indices, updates \[1, 5\], \[1, 1\] and \[1, 2\]",
    )
    assert_refused(
        Case("ScatterElements", 13, [LINE, i64([1]), f32([1])], [...]),
        r"indices and updates must .*; got data, indices, updates \[1, 5\], \[1\] and \[1\]",
    )
    assert_refused(
        Case("ScatterElements", 13, [LINE, i64([[0] * 6]), np.zeros((1, 6), np.float32)], [...]),
        "indices must not exceed data",
    )
    assert_refused(
        Case("Scatter", 9, [LINE, i64([[0]]), f32([[0]])], [...], {"axis": 2}), "axis 2 lies outside"
    )


def test_refuses_reductions_that_the_version_or_the_type_lacks() -> None:
    assert_refused(
        reduction_case("add", strs(["a", "b"]), strs(["c", "d"]), strs(["", ""])),
        "reduction must be none for elements of object; got 'add'",
    )
    assert_refused(
        reduction_case("max", np.array([0, 1j]), np.array([1j, 2]), np.array([0j, 0])),
        "reduction must be none for elements of complex128; got 'max'",
    )


def test_the_type_is_that_of_the_data() -> None:
    for op, version in (("Scatter", 9), ("ScatterElements", 18)):
        assert infer_types(make_inference(op, version, [floats(N, 3), ints(M, 2), floats(M, 2)])) == [
            floats(N, 3)
        ]
        assert_contradiction(
            make_inference(op, version, [floats(N, 3), ints(5, 2), floats(4, 2)]), "sizes 4 and 5"
        )
        assert_contradiction(
            make_inference(op, version, [floats(N, 3), ints(5), None]),
            "data and updates must have the same rank; got 2 and 1",
        )
        assert_contradiction(
            make_inference(op, version, [floats(N), None, None], axis=1), "axis 1 lies outside"
        )


def test_known_elements_are_replaced() -> None:
    inputs = [ints(3), ints(1), ints(1)]
    assert infer_elements(
        make_inference("ScatterElements", 18, inputs, {0: vec(N, 2, 3), 1: i64([0]), 2: i64([7])})
    ) == [
        7,
        2,
        3,
    ]
    assert infer_elements(
        make_inference("ScatterElements", 13, inputs, {0: i64([1, 2, 3]), 1: i64([-1]), 2: vec(N)})
    ) == [
        1,
        2,
        N,
    ]
    assert infer_elements(make_inference("Scatter", 9, inputs, {0: vec(N, 2, 3), 1: i64([1])})) == [
        N,
        None,
        3,
    ]
    assert (
        infer_elements(make_inference("ScatterElements", 18, inputs, {0: vec(N, 2, 3), 2: i64([7])})) is None
    )
    known = {0: vec(N, 2, 3), 1: i64([0]), 2: i64([7])}
    assert infer_elements(make_inference("ScatterElements", 18, inputs, known, reduction="add")) is None
