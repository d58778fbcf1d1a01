import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import TensorType
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.math.clip import infer

F, H, I8, U64 = np.float32, np.float16, np.int8, np.uint64
BF = ml_dtypes.bfloat16
INF, NAN = np.inf, np.nan
X = np.array([-2, 0.5, 3, NAN], F)
LOW, HIGH = np.array(-1, F), np.array(1, F)
BOTH = np.array([-1, 0.5, 1, NAN], F)
ABOVE = np.array([-1, 0.5, 3, NAN], F)
BELOW = np.array([-2, 0.5, 1, NAN], F)
ENDS = np.array([-INF, INF], F)
LARGEST_FLOAT = float(np.finfo(F).max)

CASES = [
    *(Case("Clip", v, [X, LOW, HIGH], [BOTH]) for v in (11, 12, 13)),
    *(Case("Clip", v, [X, LOW], [ABOVE], label="no max") for v in (11, 12, 13)),
    *(Case("Clip", v, [X, None, HIGH], [BELOW], label="no min") for v in (11, 12, 13)),
    *(Case("Clip", v, [X, HIGH, LOW], [np.array([-1, -1, -1, NAN], F)], label="min over max") for v in (11, 12, 13)),
    *(Case("Clip", v, [ENDS], [np.array([-LARGEST_FLOAT, LARGEST_FLOAT], F)], label="no limits") for v in (1, 6, 11, 12, 13)),
    *(Case("Clip", v, [X], [BOTH], {"min": -1.0, "max": 1.0}) for v in (1, 6)),
    *(Case("Clip", v, [X], [ABOVE], {"min": -1.0}, "no max") for v in (1, 6)),
    *(Case("Clip", v, [X], [BELOW], {"max": 1.0}, "no min") for v in (1, 6)),
    Case("Clip", 1, [X], [BELOW], {"max": 1.0, "consumed_inputs": [0]}, "consumed"),
    Case("Clip", 1, [np.array([1e300, INF])], [np.array([1e300, np.finfo(float).max])], label="double, no limits"),
    Case("Clip", 6, [np.array([1e300, -1e300])], [np.array([LARGEST_FLOAT, -LARGEST_FLOAT])], label="double, float's limits"),
    Case("Clip", 6, [np.array([INF, 70], H)], [np.array([INF, 70], H)], label="float16, float's limits"),
    Case("Clip", 11, [np.array([INF, 70], H)], [np.array([65504, 70], H)], label="float16, own limits"),
    Case("Clip", 6, [np.array([1], H)], [np.array([0.1], H)], {"max": 0.1}, "limit rounded to float16"),
    Case("Clip", 12, [np.array([-128, 5, 127], I8), np.array(-3, I8)], [np.array([-3, 5, 127], I8)]),
    Case("Clip", 12, [np.array([0, 2**64 - 1], U64), None, np.array(2**63 + 1, U64)],
         [np.array([0, 2**63 + 1], U64)], label="uint64"),
    Case("Clip", 13, [np.array([-2, 2], BF), np.array(-1, BF)], [np.array([-1, 2], BF)], label="bfloat16"),
    Case("Clip", 13, [np.array(5, F), LOW, HIGH], [np.array(1, F)], label="scalar"),
    Case("Clip", 13, [X, LOW.reshape(1), HIGH], [BOTH], label="limit of shape [1]"),
    Case("Clip", 13, [np.zeros((0, 2), F), LOW, HIGH], [np.zeros((0, 2), F)], label="empty"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [11, 12, 13])
def test_a_limit_is_a_scalar(version: int) -> None:
    with pytest.raises(EvaluationError, match=r"min must be a scalar; got shape \[2\]"):
        assert_case(Case("Clip", version, [X, np.zeros(2, F)], [X]))


def test_inference_refuses_a_limit_that_is_no_scalar() -> None:
    types = [TensorType(DataType.FLOAT, (4,)), None, TensorType(DataType.FLOAT, (2,))]
    with pytest.raises(InferenceError, match="max must be a scalar; got an axis of size 2"):
        infer(Inference("Clip", 13, types, [True, False, True], {}, 1))
