from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import exp, log

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cases import Case, assert_case
from ops.tensor.operator_facets import (
    FLOAT,
    INT64,
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
    vec,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Attribute, TensorType
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.dims import Expr, dim_max, dim_min, dim_product, evaluate
from sardonyx._src.ops.inference import Inference, Known
from sardonyx._src.ops.math.reduced_shapes import make_value_facet
from sardonyx._src.ops.math.reductions import mean

BY_ATTRIBUTE = {"ReduceSum": (1, 11), "ReduceMax": (1, 11, 12, 13), "ReduceMin": (1, 11, 12, 13)}
BY_INPUT = {
    "ReduceSum": (13,),
    "ReduceMax": (18, 20),
    "ReduceMin": (18, 20),
    "ReduceLogSum": (18, 28),
    "ReduceLogSumExp": (18, 28),
}
X = f32([[1, 2], [3, 4], [5, 6]])
# Of the columns and of the rows of X, and of all its elements.
RESULTS: dict[str, tuple[list[float], list[float], float]] = {
    "ReduceSum": ([9, 12], [3, 7, 11], 21),
    "ReduceMean": ([3, 4], [1.5, 3.5, 5.5], 3.5),
    "ReduceProd": ([15, 48], [2, 12, 30], 720),
    "ReduceMax": ([5, 6], [2, 4, 6], 6),
    "ReduceMin": ([1, 2], [1, 3, 5], 1),
    "ReduceL1": ([9, 12], [3, 7, 11], 21),
    "ReduceL2": ([35**0.5, 56**0.5], [5**0.5, 5, 61**0.5], 91**0.5),
    "ReduceSumSquare": ([35, 56], [5, 25, 61], 91),
    "ReduceLogSum": ([log(9), log(12)], [log(3), log(7), log(11)], log(21)),
    "ReduceLogSumExp": (
        [5 + log(1 + exp(-2) + exp(-4)), 6 + log(1 + exp(-2) + exp(-4))],
        [2 + log(1 + exp(-1)), 4 + log(1 + exp(-1)), 6 + log(1 + exp(-1))],
        6 + log(1 + exp(-1) + exp(-2) + exp(-3) + exp(-4) + exp(-5)),
    ),
}
OF_NOTHING = {
    "ReduceSum": 0,
    "ReduceMean": np.nan,
    "ReduceProd": 1,
    "ReduceMax": -np.inf,
    "ReduceMin": np.inf,
    "ReduceL1": 0,
    "ReduceL2": 0,
    "ReduceSumSquare": 0,
    "ReduceLogSum": -np.inf,
    "ReduceLogSumExp": -np.inf,
}
OF_ONE = {  # -2, and not a set
    "ReduceL1": 2,
    "ReduceL2": 2,
    "ReduceSumSquare": 4,
    "ReduceLogSum": np.nan,
}
NO_AXES = Attribute("axes", AttributeType.INTS, ())


def every_case() -> Iterator[Case]:
    for op, (columns, rows, whole) in RESULTS.items():
        for version in BY_ATTRIBUTE.get(op, (1, 11, 13)):
            yield Case(op, version, [X], [f32([columns])], {"axes": [0]}, "columns")
            yield Case(op, version, [X], [f32(rows)], {"axes": [-1], "keepdims": 0}, "rows, dropped")
            yield Case(op, version, [X], [f32([[whole]])], label="all")
            yield Case(op, version, [X], [f32([[whole]])], {"axes": NO_AXES}, "all, as none is named")
            yield Case(op, version, [X], [f32(whole)], {"axes": [1, 0], "keepdims": 0}, "both, dropped")
        for version in BY_INPUT.get(op, (18,)):
            yield Case(op, version, [X, i64([0])], [f32([columns])], label="columns")
            yield Case(op, version, [X, i64([-1])], [f32(rows)], {"keepdims": 0}, "rows, dropped")
            yield Case(op, version, [X], [f32([[whole]])], label="all")
            yield Case(op, version, [X, i64([])], [f32(whole)], {"keepdims": 0}, "all, as none is named")
            yield Case(op, version, [X, i64([1, 0])], [f32([[whole]])], label="both")
            alone = f32([[OF_ONE.get(op, -2)]])
            for axes in ([], [None], [i64([])]):
                yield Case(
                    op, version, [f32([[-2]]), *axes], [alone], {"noop_with_empty_axes": 1}, f"none {axes}"
                )
            yield Case(op, version, [X, i64([0])], [f32([columns])], {"noop_with_empty_axes": 1}, "not none")


CASES = list(every_case())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("op", RESULTS)
def test_empty_set_gives_the_identity(op: str) -> None:
    nothing, result = np.zeros((2, 0, 3), np.float32), np.full((2, 3), OF_NOTHING[op], np.float32)
    for version in BY_ATTRIBUTE.get(op, (1, 11, 13)):
        assert_case(Case(op, version, [nothing], [result], {"axes": [1], "keepdims": 0}))
    for version in BY_INPUT.get(op, (18,)):
        assert_case(Case(op, version, [nothing, i64([1])], [result[:, None]]))
        assert_case(Case(op, version, [nothing, i64([0])], [nothing[:1]]))


@pytest.mark.parametrize("op", RESULTS)
def test_scalar_is_a_set_of_one(op: str) -> None:
    result = f32(OF_ONE.get(op, -2))
    assert_case(Case(op, 11, [f32(-2)], [result]))
    assert_case(Case(op, 18, [f32(-2)], [result], {"keepdims": 0}))


@pytest.mark.parametrize("op", RESULTS)
def test_element_type_is_kept(op: str) -> None:
    versions = (*BY_ATTRIBUTE.get(op, (1, 11, 13)), *BY_INPUT.get(op, (18,)))
    for version in versions:
        for x in samples(op, version):
            element = x[1:2].copy()  # 2, of which True is as good
            result = {"ReduceSumSquare": 4, "ReduceLogSum": log(2)}.get(op, 2)
            assert_case(
                Case(op, version, [element], [np.array([result]).astype(x.dtype)], label=str(x.dtype))
            )


def two(op: str, version: int, values: object, result: object, dtype: type, label: str = "") -> Case:
    return Case(op, version, [np.array(values, dtype)], [np.array([result], dtype)], label=label)


I32, U32, I64, U64 = np.int32, np.uint32, np.int64, np.uint64
TOP = {d: int(np.iinfo(d).max) for d in (I32, U32, I64, U64)}

INTEGER_CASES = [
    two("ReduceSum", 13, [TOP[I32], 1], -(2**31), I32, "wraps"),
    two("ReduceSum", 1, [TOP[U32], 2], 1, U32, "wraps"),
    two("ReduceSum", 13, [2**53, 1], 2**53 + 1, I64, "exact"),
    two("ReduceProd", 13, [2**16, 2**16], 0, I32, "wraps"),
    two("ReduceProd", 18, [2**32 + 1, 3], 3 * 2**32 + 3, U64, "exact"),
    two("ReduceL1", 13, [-3, 4], 7, I32),
    two("ReduceSumSquare", 13, [-3, 4], 25, I64),
    two("ReduceSumSquare", 13, [2**16, 1], 1, I32, "wraps"),
    two("ReduceL2", 13, [-3, 4], 5, I64),
    two("ReduceL2", 18, [2, 2], 2, I32, "the root of 8 is cut to 2"),
    two("ReduceLogSum", 18, [4, 4], 2, I32, "2.08 is cut to 2"),
    two("ReduceLogSumExp", 13, [1000, 1000], 1000, I64, "1000.7 is cut to 1000"),
    two("ReduceLogSumExp", 13, [-1000, -1000], -999, I64, "-999.3 is cut to -999"),
    two("ReduceMean", 18, [1, 2], 1, I32, "1.5 is cut to 1"),
    two("ReduceMean", 18, [-1, -2], -1, I64, "-1.5 is cut to -1"),
    two("ReduceMean", 18, [-1, 2, -2], 0, I32, "-0.3 is cut to 0"),
    two("ReduceMean", 18, [TOP[I64], TOP[I64], TOP[I64] - 3], TOP[I64] - 1, I64, "overflows nowhere"),
    two("ReduceMean", 1, [TOP[U64], TOP[U64]], TOP[U64], U64, "overflows nowhere"),
    two("ReduceMean", 1, [TOP[U32], 1], 2**31, U32, "overflows nowhere"),
    two("ReduceMax", 12, [3, -7], 3, np.int8),
    two("ReduceMin", 12, [3, 200], 3, np.uint8),
    two("ReduceMin", 20, [2**53 + 1, 2**53 + 2], 2**53 + 1, I64, "exact"),
    two("ReduceMax", 20, [False, True], True, np.bool_),
    two("ReduceMin", 20, [False, True], False, np.bool_),
    two("ReduceMax", 20, [], False, np.bool_, "nothing"),
    two("ReduceMin", 20, [], True, np.bool_, "nothing"),
    *(two("ReduceMax", 18, [], np.iinfo(d).min, d, f"nothing {d.__name__}") for d in (I32, U32, I64, U64, np.int8)),
    *(two("ReduceMin", 18, [], np.iinfo(d).max, d, f"nothing {d.__name__}") for d in (I32, U32, I64, U64, np.uint8)),
    two("ReduceSum", 13, [], 0, I64, "nothing"),
    two("ReduceProd", 13, [], 1, U32, "nothing"),
]  # fmt: skip


@pytest.mark.parametrize("case", INTEGER_CASES, ids=str)
def test_integers(case: Case) -> None:
    assert_case(case)


F, B = np.float32, ml_dtypes.bfloat16
FLOAT_CASES = [
    two("ReduceMax", 20, [1, np.nan, 3], np.nan, F, "nan"),
    two("ReduceMin", 20, [1, np.nan, 3], np.nan, F, "nan"),
    two("ReduceMax", 20, [1, np.nan, 3], np.nan, B, "nan"),
    two("ReduceMax", 20, [-np.inf, -np.inf], -np.inf, F, "infinity"),
    two("ReduceMean", 18, [np.inf, 1], np.inf, F, "infinity"),
    two("ReduceLogSumExp", 18, [1000, 1000], 1000 + log(2), F, "no overflow"),
    two("ReduceLogSumExp", 18, [-1000, -1000], -1000 + log(2), F, "no underflow"),
    two("ReduceLogSumExp", 18, [np.inf, 1], np.inf, F, "infinity"),
    two("ReduceLogSumExp", 18, [-np.inf, 1], 1, F, "minus infinity"),
    two("ReduceLogSumExp", 18, [-np.inf, -np.inf], -np.inf, F, "minus infinities"),
    two("ReduceLogSumExp", 18, [np.nan, np.inf], np.nan, F, "nan"),
    two("ReduceLogSum", 18, [1, -1], -np.inf, F, "zero"),
    two("ReduceSum", 13, [2048, *[1] * 9], 2056, np.float16, "2057 is rounded once"),
    two("ReduceL2", 18, [300, 400], 500, np.float16, "squares beyond float16"),
    two("ReduceSum", 13, [256, *[1] * 4], 260, B, "rounded once"),
    two("ReduceMean", 18, [65504, 65504], 65504, np.float16, "sum beyond float16"),
    two("ReduceSum", 13, [2**53, 2], 2**53 + 2, np.float64, "double"),
]  # fmt: skip


@pytest.mark.parametrize("case", FLOAT_CASES, ids=str)
def test_floats(case: Case) -> None:
    assert_case(case)


def test_several_axes_in_any_order() -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    assert_case(Case("ReduceSum", 13, [x, i64([2, 0])], [f32([[[60], [92], [124]]])]))
    assert_case(Case("ReduceSum", 13, [x, i64([-1, 0])], [f32([60, 92, 124])], {"keepdims": 0}))
    assert_case(Case("ReduceMax", 13, [x], [f32([15, 19, 23])], {"axes": [0, -1], "keepdims": 0}))


def test_axes_outside_of_the_rank_and_repeated_ones_are_refused() -> None:
    assert_refused(Case("ReduceSum", 13, [X, i64([2])], [X]), "axes 2 lies outside of rank 2")
    assert_refused(Case("ReduceSum", 11, [X], [X], {"axes": [-3]}), "axes -3 lies outside")
    assert_refused(Case("ReduceMax", 18, [X, i64([1, -1])], [X]), "name an axis twice")
    assert_refused(Case("ReduceMean", 18, [f32(1), i64([0])], [X]), "outside of rank 0")


def test_integers_without_a_result_are_refused() -> None:
    assert_refused(
        two("ReduceMean", 18, [], 0, I32), "the mean of integers must have at least one element; got none"
    )


@pytest.mark.parametrize("version", [13, 18])
def test_logarithms_that_integers_cannot_hold_are_those_that_a_cast_gives(version: int) -> None:
    """Of NaN, infinity and numbers out of range: the lowest number, as the operators' bodies define it."""
    assert_case(two("ReduceLogSum", version, [1, -1], -(2**31), I32))
    assert_case(two("ReduceLogSum", version, [-1, -1], -(2**63), I64))
    assert_case(two("ReduceLogSum", version, [TOP[I32], 1], 21, I32, "no wrap"))
    assert_case(two("ReduceLogSumExp", version, [], -(2**63), I64))
    assert_case(two("ReduceLogSumExp", version, [TOP[I64]], -(2**63), I64))


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=20))
@example([1 - 2**63] * 3)
def test_mean_of_integers_is_the_exact_one_cut_off(values: list[int]) -> None:
    total, count = sum(values), len(values)
    expected = total // count if total >= 0 else -(-total // count)
    assert mean(np.array(values, np.int64), (0,), False) == expected


# --- inference -------------------------------------------------------------------------------


def reducing(
    op: str,
    version: int,
    x: TensorType,
    known: Known | None,
    axes: Array | None,
    attributes: Mapping[str, object],
) -> Inference:
    """The inference context of a node that reduces x, with known axes in versions where they are an input."""
    types = [x] if axes is None else [x, TensorType(INT64, axes.shape)]
    inference = make_inference(op, version, types)
    return replace(inference, known=[known, axes], attributes={**inference.attributes, **attributes})


def test_symbols_stay_in_the_shape() -> None:
    x = floats(N, 3, M)

    def inferred_shape(x: TensorType, axes: Array | None = None, **rest: object) -> object:
        return infer_shape(reducing("ReduceMax", 18, x, None, axes, rest))

    assert inferred_shape(x, axes=i64([1])) == (N, 1, M)
    assert inferred_shape(x, axes=i64([-1, 0])) == (1, 3, 1)
    assert inferred_shape(x, axes=i64([0]), keepdims=0) == (3, M)
    assert inferred_shape(x) == (1, 1, 1)
    assert inferred_shape(x, keepdims=0) == ()
    assert inferred_shape(x, noop_with_empty_axes=1) == (N, 3, M)
    assert inferred_shape(x, axes=i64([]), noop_with_empty_axes=1, keepdims=0) == (N, 3, M)
    assert inferred_shape(x, axes=i64([])) == (1, 1, 1)
    assert inferred_shape(TensorType(FLOAT)) is None


def test_axes_may_be_an_attribute() -> None:
    def by_attribute(**attributes: object) -> object:
        return infer_shape(reducing("ReduceL2", 13, floats(N, 3, M), None, None, attributes))

    assert by_attribute(axes=(2,)) == (N, 3, 1)
    assert by_attribute(axes=(-2,), keepdims=0) == (N, M)
    assert by_attribute() == (1, 1, 1)
    assert by_attribute(axes=(), keepdims=0) == ()


def test_unknown_axes_leave_the_rank_where_it_is_known() -> None:
    x, axes = floats(N, 3, 1), ints(2)
    assert infer_shape(make_inference("ReduceSum", 13, [x, axes])) == (None, None, 1)
    assert infer_shape(make_inference("ReduceSum", 13, [x, axes], keepdims=0)) == (None,)
    assert infer_shape(make_inference("ReduceSum", 13, [x, ints(N)], keepdims=0)) is None
    assert infer_shape(make_inference("ReduceSum", 13, [x, ints(0)], keepdims=0)) == ()
    assert infer_shape(make_inference("ReduceSum", 13, [x, ints(0)], noop_with_empty_axes=1)) == (N, 3, 1)
    assert infer_shape(make_inference("ReduceSum", 13, [x, None])) == (None, None, 1)


def test_axes_that_contradict_the_rank_are_found() -> None:
    assert_contradiction(
        make_inference("ReduceL1", 13, [floats(N)], axes=(1,)), "axis 1 lies outside of rank 1"
    )
    assert_contradiction(make_inference("ReduceSum", 13, [floats(N, 2), None], {1: i64([0, -2])}), "twice")
    assert_contradiction(
        make_inference("ReduceSum", 13, [floats(N), ints(2)], keepdims=0),
        "axes must have at most 1 elements, the rank of data; got 2",
    )


# --- known elements --------------------------------------------------------------------------


def test_sizes_are_reduced_as_expressions() -> None:
    def folded(op: str, version: int = 18, **attributes: object) -> object:
        return infer_elements(reducing(op, version, ints(3), vec(N, 2, M), None, attributes))

    assert folded("ReduceProd", keepdims=0) == N * M * 2
    assert folded("ReduceProd") == [N * M * 2]
    assert folded("ReduceSum", 13) == [N + M + 2]
    assert folded("ReduceSum", 11, axes=(0,)) == [N + M + 2]
    assert folded("ReduceMean", keepdims=0) == (N + M + 2) // 3
    assert folded("ReduceMax", 20) == [dim_max(N, M, 2)]
    assert folded("ReduceMin", 13, keepdims=0) == dim_min(N, M, 2)
    assert folded("ReduceSum", 13, noop_with_empty_axes=1) == [N, 2, M]


def test_unknown_sizes_leave_unknown_results() -> None:
    x = np.array([[N, 2], [None, 3], [4, 5]], object)

    def folded(op: str, **attributes: object) -> object:
        return infer_elements(reducing(op, 18, ints(3, 2), x, i64([1]), attributes))

    assert folded("ReduceProd", keepdims=0) == [N * 2, None, 20]
    assert folded("ReduceMin") == [[dim_min(N, 2)], [None], [4]]
    assert infer_elements(make_inference("ReduceProd", 18, [ints(3, 2), ints(1)], {0: x})) is None


def test_the_mean_of_integers_is_rounded_toward_zero() -> None:
    def folded(*elements: object, type: DataType = INT64) -> object:
        x = np.array(elements, object)
        return infer_elements(
            make_inference("ReduceMean", 18, [TensorType(type, (len(elements),))], {0: x}, keepdims=0)
        )

    mean = folded(N - 5, 2)
    assert isinstance(mean, Expr)
    assert [evaluate(mean, {"N": n}) for n in (0, 2, 3, 8)] == [-1, 0, 0, 2]
    assert folded(N - 5) == N - 5
    assert folded(N, 2, type=FLOAT) is None


def test_numbers_come_in_the_element_type() -> None:
    known = np.array([2, 3], object)
    inference = make_inference("ReduceProd", 13, [TensorType(DataType.INT32, (2,))], {0: known}, keepdims=0)
    result = make_value_facet(dim_product)(inference)
    assert result is not None
    assert result.dtype == np.int32
    assert result == 6
