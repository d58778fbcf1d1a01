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
    infer_shape,
    make_inference,
    strs,
)
from sardonyx._src.ir import TensorType
from sardonyx._src.ir.dims import symbol

H, W = symbol("H"), symbol("W")
IMAGE = f32([[[[1, 2], [3, 4]]]])
TWICE = f32([[[[1, 1, 2, 2], [1, 1, 2, 2], [3, 3, 4, 4], [3, 3, 4, 4]]]])
BETWEEN = f32([[[[1, 1.5, 2, 2], [2, 2.5, 3, 3], [3, 3.5, 4, 4], [3, 3.5, 4, 4]]]])
LINE = f32([0, 10, 20, 30])
DOUBLE_SIZE = {"scales": [1.0, 1.0, 2.0, 2.0]}
FIRST = {"height_scale": 2.0, "width_scale": 2.0}

CASES = [
    Case("Upsample", 1, [IMAGE], [TWICE], FIRST),
    Case("Upsample", 1, [IMAGE], [BETWEEN], {**FIRST, "mode": "bilinear"}),
    Case("Upsample", 1, [IMAGE], [f32([[[[1, 1], [1, 1], [3, 3], [3, 3]]]])], {"height_scale": 2.0, "width_scale": 1.4}),
    Case("Upsample", 7, [IMAGE], [TWICE], DOUBLE_SIZE),
    Case("Upsample", 7, [IMAGE], [BETWEEN], {**DOUBLE_SIZE, "mode": "linear"}),
    *(Case("Upsample", v, [IMAGE, f32([1, 1, 2, 2])], [TWICE]) for v in (9, 10)),
    *(Case("Upsample", v, [IMAGE, f32([1, 1, 2, 2])], [BETWEEN], {"mode": "linear"}) for v in (9, 10)),
    *(Case("Upsample", v, [LINE, f32([1.5])], [f32([0, 0, 10, 20, 20, 30])], label="rounds down") for v in (9, 10)),
    Case("Upsample", 7, [LINE], [f32([0, 0, 10, 20, 20, 30])], {"scales": [1.5]}, "rounds down"),
    Case("Upsample", 9, [f32([0, 1, 2]), f32([1.3])], [f32([0, 0, 1])], label="of the same size, but not the same"),
    Case("Upsample", 9, [LINE, f32([1])], [LINE]),
    Case("Upsample", 9, [np.array([0, 255], np.uint8), f32([2])], [np.array([0, 127, 255, 255], np.uint8)], {"mode": "linear"}),
    Case("Upsample", 9, [strs(["a", "b"]), f32([2])], [strs(["a", "a", "b", "b"])]),
    Case("Upsample", 1, [np.array([[[[True, False]]]])], [np.array([[[[True, True, False, False]]]])], {"height_scale": 1.0, "width_scale": 2.0}),
    Case("Upsample", 7, [np.array([0, 10], np.float16)], [np.array([0, 5, 10, 10], np.float16)], {"scales": [2.0], "mode": "linear"}),
    Case("Upsample", 9, [np.array([0, 2j]), f32([2])], [np.array([0, 1j, 2j, 2j])], {"mode": "linear"}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("case", "match"),
    [
        (Case("Upsample", 9, [LINE, f32([0.5])], [...]), r"scales must be finite and >= 1; got 0\.5"),
        (Case("Upsample", 7, [LINE], [...], {"scales": [0.5]}), r"scales must be finite and >= 1; got 0\.5"),
        (
            Case("Upsample", 1, [IMAGE], [...], {"height_scale": 0.5, "width_scale": 1.0}),
            r"scales must be finite and >= 1; got 0\.5",
        ),
        (Case("Upsample", 1, [LINE], [...], FIRST), "rank 1"),
        (Case("Upsample", 9, [LINE, f32([1, 2])], [...]), "scales must have 1 entries, one per axis; got 2"),
        (
            Case("Upsample", 9, [strs(["a"]), f32([2])], [...], {"mode": "linear"}),
            "mode must be nearest for strings",
        ),
    ],
)
def test_bad_values_are_refused(case: Case, match: str) -> None:
    assert_refused(case, match)


def test_the_result_has_a_limit() -> None:
    assert_too_large(Case("Upsample", 9, [LINE, f32([1e12])], [...]))


def test_symbols_stay_in_the_shape() -> None:
    first = make_inference("Upsample", 1, [floats(N, 3, H, W)], height_scale=2.0, width_scale=1.5)
    assert infer_shape(first) == (N, 3, 2 * H, 3 * W // 2)
    assert infer_shape(make_inference("Upsample", 7, [floats(N, H)], scales=(1.0, 3.0))) == (N, 3 * H)
    assert infer_shape(make_inference("Upsample", 9, [floats(N, H), None], {1: f32([1, 3])})) == (N, 3 * H)
    assert infer_shape(make_inference("Upsample", 10, [floats(N), None])) == (symbol("new0"),)
    assert infer_shape(make_inference("Upsample", 7, [TensorType(FLOAT)], scales=(1.0, 3.0))) == (None, None)


def test_contradictions_are_found() -> None:
    assert_contradiction(
        make_inference("Upsample", 1, [floats(N, H)], height_scale=2.0, width_scale=1.5), "rank 2"
    )
    assert_contradiction(
        make_inference("Upsample", 7, [floats(N, H)], scales=(2.0,)),
        "scales must have 2 entries, one per axis; got 1",
    )
