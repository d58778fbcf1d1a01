import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import Array, TensorType

F, H, B = np.float32, np.float16, ml_dtypes.bfloat16
U8, I8 = np.uint8, np.int8
E4M3, E4M3Z, E8M0 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e8m0fnu
NAN, INF = np.nan, np.inf
TWO = np.array(2, F)
X = np.array([0, 2, 3, 5, 1000, -254, -1000], F)  # ties round to even: 1.5 and 2.5 to 2


def case(version: int, inputs: list[Array | None], y: Array, label: str = "", **attributes: object) -> Case:
    return Case("QuantizeLinear", version, inputs, [y], attributes, label)


GRID = np.array([[2, 4, 6], [8, 10, 12]], F)
ROWS, COLUMNS = np.array([1, 2], F), np.array([1, 2, 3], F)
BLOCKED = np.array([[1, 2, 3, 4, 5], [10, 20, 30, 40, 50]], F)

CASES = [
    case(10, [X, TWO, np.array(128, U8)], np.array([128, 129, 130, 130, 255, 1, 0], U8)),
    case(10, [X, TWO, np.array(1, I8)], np.array([1, 2, 3, 3, 127, -126, -128], I8)),
    case(10, [X, TWO], np.array([0, 1, 2, 2, 255, 0, 0], U8), "uint8 by default"),
    case(10, [np.array([7, -7, 2**31 - 1], np.int32), TWO, np.array(0, I8)], np.array([4, -4, 127], I8), "int32"),
    case(10, [X[:2], np.array([2], F)], np.array([0, 1], U8), "a scale of one element"),
    case(10, [np.array([NAN, INF, -INF], F), TWO, np.array(9, U8)], np.array([0, 255, 0], U8)),
    case(10, [np.zeros((0, 2), F), TWO], np.zeros((0, 2), U8), "empty"),
    case(10, [np.array(3, F), TWO], np.array(2, U8), "scalar"),
    case(13, [GRID, COLUMNS, np.array([0, 1, 2], U8)], np.array([[2, 3, 4], [8, 6, 6]], U8)),
    case(13, [GRID, ROWS, np.array([0, 1], I8)], np.array([[2, 4, 6], [5, 6, 7]], I8), axis=0),
    case(13, [GRID, ROWS], np.array([[2, 4, 6], [4, 5, 6]], U8), "axis from the back", axis=-2),
    case(13, [GRID, TWO], np.array([[1, 2, 3], [4, 5, 6]], U8), "axis ignored", axis=7),
    case(13, [X[:3], COLUMNS], np.array([0, 1, 1], U8), "rank 1 needs no axis"),
    case(19, [np.array([1, 1000, -INF, NAN], F), TWO, np.array(0, E4M3)], np.array([0.5, 448, -448, NAN], E4M3)),
    case(19, [np.array([1000, 1], F), TWO, np.array(0, E4M3)], np.array([NAN, 0.5], E4M3), saturate=0),
    case(19, [np.array([1000, INF], F), TWO, np.array(0, E4M3Z)], np.array([240, NAN], E4M3Z), "FNUZ"),
    case(24, [np.array([1000, INF], F), TWO, np.array(0, E4M3Z)], np.array([240, 240], E4M3Z), "FNUZ"),
    case(19, [np.array([1, 3], F), TWO, np.array(1, E4M3)], np.array([1.5, 2.5], E4M3), "zero point"),
    case(19, [X.astype(H), TWO.astype(H)], np.array([0, 1, 2, 2, 255, 0, 0], U8)),
    case(19, [X[:4].astype(B), TWO.astype(B)], np.array([0, 1, 2, 2], U8)),
    case(19, [np.array([9, 10, -3], np.int32), np.array(4, np.int32), np.array(0, I8)], np.array([2, 2, -1], I8), "int32"),
    case(21, [X, TWO, np.array(0, np.int16)], np.array([0, 1, 2, 2, 500, -127, -500], np.int16)),
    case(21, [np.array([7e4, 1e6], F), np.array(1, F), np.array(1, np.uint16)], np.array([65535] * 2, np.uint16)),
    case(21, [X, TWO], np.array([0, 1, 2, 2, 7, -8, -8], ml_dtypes.int4), output_dtype=22),
    case(21, [X, TWO, np.array(1, ml_dtypes.uint4)], np.array([1, 2, 3, 3, 15, 0, 0], ml_dtypes.uint4), output_dtype=21),
    case(21, [BLOCKED, np.array([[1, 2, 3], [10, 5, 2]], F)], np.array([[1, 2, 2, 2, 2], [1, 2, 6, 8, 25]], U8), block_size=2),
    case(21, [BLOCKED.T, np.array([[1, 10], [2, 5], [3, 2]], F)], np.array([[1, 2, 2, 2, 2], [1, 2, 6, 8, 25]], U8).T.copy(),
         "axis 0", block_size=2, axis=0),
    case(21, [X[:3], np.array([1, 2], F), np.array([0, 5], U8)], np.array([0, 2, 7], U8), "blocks of rank 1", block_size=2, axis=0),
    case(21, [GRID, COLUMNS], np.array([[2, 2, 2], [8, 5, 4]], U8), "a vector is for an axis", block_size=2),
    # 13 / 3 = 4.3333; 1000.5 / 0.1: the quotient 10005 is no float16, whose neighbors are 10000 and 10008.
    case(21, [np.array([1000.5], H), np.array([0.0999755859375], H), np.array(0, np.int16)], np.array([10007], np.int16), "not rounded twice"),
    case(23, [np.array([1000.5], H), np.array([0.0999755859375], H), np.array(0, np.int16)], np.array([10008], np.int16), "precision of the scale"),
    case(23, [np.array([1000.5], H), np.array([0.0999755859375], H), np.array(0, np.int16)], np.array([10007], np.int16), precision=1),
    case(23, [np.array([257], F), np.array(1, B), np.array(0, np.int16)], np.array([256], np.int16), "bfloat16 holds 8 bits"),
    case(23, [np.array([257], F), np.array(1, F), np.array(0, np.int16)], np.array([256], np.int16), precision=16),
    case(23, [np.array([1, 5, -100, NAN], F), TWO], np.array([0.5, 2, -6, -0.0], ml_dtypes.float4_e2m1fn), output_dtype=23),
    case(24, [np.array([-3, 5], F), np.array(2, E8M0), np.array(0, I8)], np.array([-2, 2], I8), "a power of two"),
    case(25, [X, TWO], np.array([0, 1, 1, 1, 1, -2, -2], ml_dtypes.int2), output_dtype=26),
    case(25, [X, TWO], np.array([0, 1, 2, 2, 3, 0, 0], ml_dtypes.uint2), output_dtype=25),
    case(28, [np.array([3, 100], F), TWO], np.array([1.5, 7.5], ml_dtypes.float6_e2m3fn), output_dtype=27),
    case(28, [np.array([3, 100], F), TWO], np.array([1.5, 28], ml_dtypes.float6_e3m2fn), output_dtype=28, saturate=0),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@given(st.floats(-300, 300, width=32), st.sampled_from([0.25, 0.5, 1, 2]), st.integers(-128, 127))
def test_quantized_numbers_are_the_nearest(x: float, scale: float, zero: int) -> None:
    """Scales that are powers of two divide exactly, so the expected values follow from integers."""
    nearest = round(x / scale) + zero  # Python rounds ties to even
    expected = np.array([max(-128, min(127, nearest))], I8)
    assert_case(case(10, [np.array([x], F), np.array(scale, F), np.array(zero, I8)], expected))


@pytest.mark.parametrize(
    ("version", "inputs", "attributes", "message"),
    [
        (10, [X, np.ones(7, F)], {}, r"y_scale must be a scalar before version 13; got shape \[7\]"),
        (13, [GRID, ROWS], {}, "y_scale must have 3 elements, the size of axis 1; got 2"),
        (13, [GRID, ROWS], {"axis": 2}, "axis 2 lies outside"),
        (
            13,
            [GRID, COLUMNS, np.zeros(2, U8)],
            {},
            r"y_zero_point must have the shape of y_scale, \[3\]; got \[2\]",
        ),
        (
            13,
            [GRID, np.ones((2, 3), F)],
            {},
            r"or, with block_size, one element per block of \[2, 3\]; got shape \[2, 3\]",
        ),
        (
            21,
            [BLOCKED, np.ones((2, 2), F)],
            {"block_size": 2},
            r"y_scale must have shape \[2, 3\], one element per block of 2 along axis 1",
        ),
        (
            21,
            [X, TWO, np.array(0, U8)],
            {"output_dtype": 3},
            "output_dtype must be the type of y_zero_point, UINT8; got INT8",
        ),
        (
            23,
            [X, TWO],
            {"precision": 7},
            "precision must be one of FLOAT, FLOAT16, BFLOAT16, DOUBLE; got INT64",
        ),
    ],
)
def test_bad_values_are_refused(
    version: int, inputs: list[Array | None], attributes: dict[str, object], message: str
) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(case(version, inputs, ..., **attributes))  # type: ignore[arg-type]


U8_SCALAR = TensorType(DataType.UINT8, ())


def test_types_of_results() -> None:
    n = floats("N", 3).shape
    assert infer_node("QuantizeLinear", 13, [floats("N", 3), floats(), U8_SCALAR]) == [
        TensorType(DataType.UINT8, n)
    ]
    assert infer_node("QuantizeLinear", 13, [floats("N", 3), floats(3)]) == [TensorType(DataType.UINT8, n)]
    assert infer_node("QuantizeLinear", 13, [floats("N", 3), floats(), None]) == [None]
    assert infer_node("QuantizeLinear", 21, [floats("N", 3), floats()], {"output_dtype": 22}) == [
        TensorType(DataType.INT4, n)
    ]
    assert infer_node("QuantizeLinear", 21, [floats("N", 3), floats("S", 2)], {"block_size": 2}) == [
        TensorType(DataType.UINT8, n)
    ]


@pytest.mark.parametrize(
    ("inputs", "attributes"),
    [
        ([floats("N", 3), floats(2)], {}),
        ([floats("N", 3), floats("N", 3)], {"block_size": 2}),
        ([floats("N", 3), floats(2, 2)], {}),
        ([floats("N", 3), floats(3)], {"axis": 2}),
        ([floats(), floats(), U8_SCALAR], {"output_dtype": 3}),
    ],
)
def test_contradictions_are_found_before_running(
    inputs: list[TensorType], attributes: dict[str, object]
) -> None:
    with pytest.raises(InferenceError):
        infer_node("QuantizeLinear", 21, inputs, attributes)
