import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import TensorType

F = np.float32
E4M3, E4M3Z, E8M0 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e8m0fnu
X = np.array([[1.5, -2.5]], F)
LARGE = np.array([500, np.inf], F)

CASES = [
    Case("CastLike", 15, [X, np.zeros(3, np.int64)], [np.array([[1, -2]])]),
    Case("CastLike", 15, [X, np.array("", object)], [np.array([["1.5", "-2.5"]], object)]),
    Case("CastLike", 19, [LARGE, np.zeros(0, E4M3)], [np.array([448, 448], E4M3)]),
    Case("CastLike", 19, [LARGE, np.zeros(0, E4M3)], [np.array([np.nan, np.nan], E4M3)], {"saturate": 0}),
    Case("CastLike", 21, [X, np.zeros(1, ml_dtypes.int4)], [np.array([[1, -2]], ml_dtypes.int4)]),
    Case("CastLike", 23, [LARGE, np.zeros(0, E4M3Z)], [np.array([240, np.nan], E4M3Z)], label="FNUZ"),
    Case("CastLike", 24, [LARGE, np.zeros(0, E4M3Z)], [np.array([240, 240], E4M3Z)], label="FNUZ"),
    Case("CastLike", 24, [X[:, :1], np.ones(1, E8M0)], [np.array([[2]], E8M0)]),
    Case("CastLike", 24, [X[:, :1], np.ones(1, E8M0)], [np.array([[1]], E8M0)], {"round_mode": "down"}),
    Case("CastLike", 25, [X, np.zeros(1, ml_dtypes.int2)], [np.array([[1, -2]], ml_dtypes.int2)]),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_the_type_is_that_of_the_second_input() -> None:
    assert infer_node("CastLike", 15, [floats("N"), TensorType(DataType.INT8)]) == [
        TensorType(DataType.INT8, floats("N").shape)
    ]
    assert infer_node("CastLike", 15, [floats("N"), None]) == [None]
