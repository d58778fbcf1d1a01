import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import Array, TensorType

F, H, B = np.float32, np.float16, ml_dtypes.bfloat16
U8, I8 = np.uint8, np.int8
E4M3, E8M0 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu
TWO = np.array(2, F)
X = np.array([0, 3, 128, 255], U8)


def case(version: int, inputs: list[Array | None], y: Array, label: str = "", **attributes: object) -> Case:
    return Case("DequantizeLinear", version, inputs, [y], attributes, label)


GRID = np.array([[2, 4, 6], [8, 10, 12]], I8)
BLOCKED = np.array([[1, 2, 3, 4, 5], [6, 7, 8, 9, 10]], I8)

CASES = [
    case(10, [X, TWO, np.array(128, U8)], np.array([-256, -250, 0, 254], F)),
    case(10, [X, TWO], np.array([0, 6, 256, 510], F), "zero point 0"),
    case(10, [np.array([-128, 127], I8), TWO, np.array(127, I8)], np.array([-510, 0], F), "no wrapping"),
    case(10, [np.array([2**31 - 1, -5], np.int32), np.array(1, F)], np.array([2**31, -5], F), "int32"),
    case(10, [np.array([-(2**31)], np.int32), np.array(1, F), np.array(1, np.int32)], np.array([-(2.0**31)], F), "no wrapping"),
    case(10, [np.zeros((2, 0), U8), TWO], np.zeros((2, 0), F), "empty"),
    case(10, [np.array(3, U8), np.array([2], F)], np.array(6, F), "scalar"),
    case(13, [GRID, np.array([1, 2, 3], F), np.array([0, 1, 2], I8)], np.array([[2, 6, 12], [8, 18, 30]], F)),
    case(13, [GRID, np.array([1, 2], F)], np.array([[2, 4, 6], [16, 20, 24]], F), axis=0),
    case(13, [GRID, np.array([1, 2], F)], np.array([[2, 4, 6], [16, 20, 24]], F), "axis from the back", axis=-2),
    case(13, [X[:2], np.array([1, 2], F)], np.array([0, 6], F), "rank 1 needs no axis"),
    case(19, [np.array([0.5, 448, -104, np.nan], E4M3), TWO], np.array([1, 896, -208, np.nan], F)),
    case(19, [np.array([0.5, 2], E4M3), TWO, np.array(0.5, E4M3)], np.array([0, 3], F), "zero point"),
    case(19, [X, TWO.astype(H)], np.array([0, 6, 256, 510], H)),
    case(19, [X, np.array(1, B), np.array(1, U8)], np.array([-1, 2, 127, 254], B)),
    case(21, [BLOCKED, np.array([[1, 2, 3], [0, 1, 2]], F)], np.array([[1, 2, 6, 8, 15], [0, 0, 8, 9, 20]], F), block_size=2),
    case(21, [BLOCKED.T, np.array([[1, 0], [2, 1], [3, 2]], F), np.array([[1, 1], [0, 0], [0, 0]], I8)],
         np.array([[0, 1, 6, 8, 15], [0, 0, 8, 9, 20]], F).T, "zero points", block_size=2, axis=0),
    case(21, [np.array([-8, 7], ml_dtypes.int4), TWO, np.array(7, ml_dtypes.int4)], np.array([-30, 0], F), "no wrapping"),
    case(21, [np.array([0, 15], ml_dtypes.uint4), TWO, np.array(15, ml_dtypes.uint4)], np.array([-30, 0], F)),
    case(21, [np.array([65535, 0], np.uint16), TWO, np.array(1, np.uint16)], np.array([131068, -2], F)),
    # 2049 is no float16; half of it, 1024.5, rounds to even: 1024, and half of 2048, its neighbor, is 1024, too.
    case(21, [np.array([2051], np.int16), np.array(0.5, H)], np.array([1026], H), "rounded once: 1025.5"),
    case(23, [np.array([2051], np.int16), np.array(0.5, H)], np.array([1026], H), "rounded to 2052 before"),
    case(21, [np.array([2049], np.int16), np.array(3, H)], np.array([6148], H), "rounded once: 6147"),
    case(23, [np.array([2049], np.int16), np.array(3, H)], np.array([6144], H), "rounded to 2048 before"),
    case(23, [X[:2], TWO], np.array([0, 6], H), output_dtype=10),
    case(23, [X[:2], TWO.astype(H)], np.array([0, 6], F), output_dtype=1),
    case(23, [X[1:2], np.array(1 + 2**-10, F)], np.array([3], B), "scale rounded to bfloat16", output_dtype=16),
    case(23, [np.array([0.5, -6], ml_dtypes.float4_e2m1fn), TWO], np.array([1, -12], F)),
    case(24, [np.array([3, -5], I8), np.array(0.25, E8M0)], np.array([0.75, -1.25], F), output_dtype=1),
    case(25, [np.array([-2, 1], ml_dtypes.int2), TWO, np.array(1, ml_dtypes.int2)], np.array([-6, 0], F)),
    case(25, [np.array([0, 3], ml_dtypes.uint2), TWO, np.array(3, ml_dtypes.uint2)], np.array([-6, 0], F)),
    case(28, [np.array([7.5, -1], ml_dtypes.float6_e2m3fn), TWO], np.array([15, -2], F)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    ("version", "inputs", "attributes", "message"),
    [
        (10, [X, np.ones(4, F)], {}, r"x_scale must be a scalar before version 13; got shape \[4\]"),
        (13, [GRID, np.ones(2, F)], {}, "x_scale must have 3 elements, the size of axis 1; got 2"),
        (
            13,
            [GRID, np.ones(3, F), np.zeros(2, I8)],
            {},
            r"x_zero_point must have the shape of x_scale, \[3\]; got \[2\]",
        ),
        (
            21,
            [BLOCKED, np.ones((2, 2), F)],
            {"block_size": 2},
            r"x_scale must have shape \[2, 3\], one element per block of 2 along axis 1",
        ),
        (23, [X, TWO], {"output_dtype": 11}, "output_dtype must be FLOAT, FLOAT16 or BFLOAT16; got DOUBLE"),
        (
            24,
            [X, np.array(2, E8M0)],
            {},
            "the type of x_scale must be FLOAT, FLOAT16 or BFLOAT16; got FLOAT8E8M0",
        ),
    ],
)
def test_bad_values_are_refused(
    version: int, inputs: list[Array | None], attributes: dict[str, object], message: str
) -> None:
    with pytest.raises(EvaluationError, match=message):
        assert_case(case(version, inputs, ..., **attributes))  # type: ignore[arg-type]


def test_types_of_results() -> None:
    n = floats("N", 3).shape
    x = TensorType(DataType.INT8, n)
    assert infer_node("DequantizeLinear", 13, [x, floats()]) == [floats("N", 3)]
    assert infer_node("DequantizeLinear", 19, [x, TensorType(DataType.BFLOAT16, ())]) == [
        TensorType(DataType.BFLOAT16, n)
    ]
    assert infer_node("DequantizeLinear", 23, [x, floats()], {"output_dtype": 10}) == [
        TensorType(DataType.FLOAT16, n)
    ]
    assert infer_node("DequantizeLinear", 23, [x, None], {"output_dtype": 10}) == [
        TensorType(DataType.FLOAT16, n)
    ]
    assert infer_node("DequantizeLinear", 23, [x, None]) == [None]


def test_contradictions_are_found_before_running() -> None:
    x = TensorType(DataType.INT8, (2, 3))
    with pytest.raises(InferenceError, match="input 1 must have 3 elements along the quantized axis; got 2"):
        infer_node("DequantizeLinear", 13, [x, floats(2)])
    with pytest.raises(
        InferenceError, match="the type of x_scale must be FLOAT, FLOAT16 or BFLOAT16; got FLOAT8E8M0"
    ):
        infer_node("DequantizeLinear", 24, [x, TensorType(DataType.FLOAT8E8M0, ())])
