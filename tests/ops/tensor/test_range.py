import ml_dtypes
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
    assert_too_large,
    f32,
    floats,
    i64,
    infer_elements,
    infer_shape,
    infer_types,
    ints,
    make_inference,
    vec,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import TensorType
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.inference import Known

BF16, F16 = ml_dtypes.bfloat16, np.float16


def of(dtype: type[np.generic], *limits: float) -> list[np.ndarray[tuple[int, ...], np.dtype[np.generic]]]:
    return [np.array(x, dtype) for x in limits]


CASES = [
    *(Case("Range", v, of(np.int64, 3, 9, 3), [i64([3, 6])]) for v in (11, 27)),
    Case("Range", 11, of(np.int32, 10, 4, -2), [np.array([10, 8, 6], np.int32)], label="down"),
    Case("Range", 11, of(np.float32, 1, 5, 2), [f32([1, 3])], label="float"),
    Case("Range", 11, of(np.float64, 0, 1, 0.3), [np.array([0, 0.3, 0.6, 0.9])], label="double"),
    Case("Range", 11, of(np.float32, 0, 0.3, 0.1), [f32([0, 0.1, 0.2])], label="float32 counts in float32"),
    Case("Range", 11, of(np.int64, 5, 5, 1), [i64([])], label="nothing"),
    Case("Range", 11, of(np.int64, 5, 1, 1), [i64([])], label="wrong direction"),
    Case("Range", 11, of(np.float32, 5, 1, 1), [f32([])], label="wrong direction, float"),
    Case(
        "Range",
        11,
        of(np.int16, -32768, 32767, 32767),
        [np.array([-32768, -1, 32766], np.int16)],
        label="int16",
    ),
    Case(
        "Range",
        11,
        of(np.int64, -(2**63), 2**63 - 1, 2**63 - 1),
        [i64([-(2**63), -1, 2**63 - 2])],
        label="far",
    ),
    Case("Range", 11, [i64([0]), i64([2]), i64([1])], [i64([0, 1])], label="one element each"),
    Case("Range", 27, of(F16, 0, 2, 0.5), [np.array([0, 0.5, 1, 1.5], F16)], label="float16"),
    # 2048 + i is exact in float32; float16 then rounds to even numbers.
    Case(
        "Range", 27, of(F16, 2048, 2052, 1), [np.array([2048, 2048, 2050, 2052], F16)], label="rounded once"
    ),
    Case("Range", 27, of(BF16, 256, 260, 1), [np.array([256, 256, 258, 260], BF16)], label="bfloat16"),
    Case(
        "Range",
        27,
        of(BF16, 0, 1, 0.25),
        [np.array([0, 0.25, 0.5, 0.75], BF16)],
        {"stash_type": 11},
        "in double",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_stash_type_decides_how_many_there_are() -> None:
    """From 0 to 1 by the float16 next below 1/3, 0.33325: 3.0007 steps, which float16 rounds to 3."""
    limits = of(F16, 0, 1, 0.33325)
    third = np.float32(F16(0.33325))
    exact = (np.arange(4, dtype=np.float32) * third).astype(F16)
    assert_case(Case("Range", 27, limits, [exact]))
    assert_case(Case("Range", 27, limits, [exact[:3]], {"stash_type": 10}))


def test_refuses_ranges_without_count() -> None:
    assert_refused(Case("Range", 11, of(np.int64, 0, 1, 0), [...]), "delta must .*; got 0, 1, 0")
    assert_refused(Case("Range", 11, of(np.float32, 0, 1, 0), [...]), r"delta must .*; got 0\.0, 1\.0, 0\.0")
    assert_refused(
        Case("Range", 11, of(np.float32, 0, np.inf, 1), [...]), r"delta must .*; got 0\.0, inf, 1\.0"
    )
    assert_refused(
        Case("Range", 11, of(np.float32, np.nan, 1, 1), [...]), r"delta must .*; got nan, 1\.0, 1\.0"
    )
    assert_refused(
        Case("Range", 27, of(F16, 0, 1, 1), [...], {"stash_type": 6}),
        "stash_type must be a floating-point type; got 6",
    )
    assert_too_large(Case("Range", 11, of(np.int64, 0, 1 << 40, 1), [...]))
    assert_contradiction(make_inference("Range", 11, [ints()] * 3, {2: i64(0)}), "delta must not be 0")


# --- inference -------------------------------------------------------------------------------


def known_inputs(start: Dim, limit: Dim, delta: Dim) -> dict[int, Known]:
    return {i: vec(d).reshape(()) for i, d in enumerate((start, limit, delta))}


def count(start: Dim, limit: Dim, delta: Dim) -> str:
    shape = infer_shape(make_inference("Range", 11, [ints()] * 3, known_inputs(start, limit, delta)))
    assert shape is not None
    return str(shape[0])


def test_symbolic_counts() -> None:
    assert count(0, N, 1) == "N"
    assert count(N, N + 3, 1) == "3"
    assert count(1, N, 1) == "max(N-1,0)"
    assert count(0, N, 2) == "(N-1)//2+1"
    assert count(N, 0, -1) == "N"
    assert count(M, M + N, 1) == "N"
    assert count(0, N, M) == "new0"
    assert count(0, None, 1) == "new0"
    assert (
        str(infer_shape(make_inference("Range", 11, [ints(), None, ints()], {0: i64(0), 2: i64(1)})))
        == "(from_param('new0'),)"
    )


def test_counts_of_floats() -> None:
    known: dict[int, Known] = {0: f32(0), 1: f32(0.3), 2: f32(0.1)}
    assert infer_shape(make_inference("Range", 11, [floats()] * 3, known)) == (3,)
    for i in range(3):
        unknown = {k: v for k, v in known.items() if k != i}
        assert infer_shape(make_inference("Range", 11, [floats()] * 3, unknown)) == (
            make_inference("Range", 11, []).new_dim(),
        )
    half = TensorType(DataType.FLOAT16, ())
    limits = dict(enumerate(of(F16, 0, 1, 0.33325)))
    assert infer_shape(make_inference("Range", 27, [half] * 3, limits)) == (4,)
    assert infer_shape(make_inference("Range", 27, [half] * 3, limits, stash_type=10)) == (3,)
    assert infer_shape(make_inference("Range", 27, [half] * 3, limits, stash_type=6)) == (
        make_inference("Range", 27, []).new_dim(),
    )
    assert infer_types(make_inference("Range", 11, [None, floats(), None])) == [
        TensorType(FLOAT, (make_inference("Range", 11, []).new_dim(),))
    ]
    assert infer_types(make_inference("Range", 11, [None, None, None])) == [None]


def test_known_elements() -> None:
    assert infer_elements(make_inference("Range", 11, [ints()] * 3, known_inputs(N, N + 3, 1))) == [
        N,
        N + 1,
        N + 2,
    ]
    assert infer_elements(make_inference("Range", 11, [ints()] * 3, known_inputs(0, 6, 3))) == [0, 3]
    assert infer_elements(make_inference("Range", 11, [ints()] * 3, known_inputs(0, N, 1))) is None
    assert infer_elements(make_inference("Range", 11, [ints()] * 3, known_inputs(0, 5000, 1))) is None
    assert infer_elements(make_inference("Range", 11, [ints()] * 3, known_inputs(None, 2, 1))) is None
    assert (
        infer_elements(make_inference("Range", 11, [floats()] * 3, {0: f32(0), 1: f32(1), 2: f32(1)})) is None
    )


@given(st.integers(-20, 20), st.integers(-20, 20), st.integers(-4, 4).filter(bool))
def test_integers_are_those_of_python(start: int, limit: int, delta: int) -> None:
    assert_case(Case("Range", 11, of(np.int64, start, limit, delta), [i64(list(range(start, limit, delta)))]))
