import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ops.math.sum_mean import sum_8

F, H = np.float32, np.float16
BF = ml_dtypes.bfloat16
A = np.array([3, 0, 2], F)
B = np.array([1, 3, 4], F)
C = np.array([2, 6, 6], F)
TOTAL = np.array([6, 9, 12], F)
AVERAGE = np.array([2, 3, 4], F)
COLUMN = np.array([[1], [2]], F)

CASES = [
    *(Case("Sum", v, [A, B, C], [TOTAL]) for v in (1, 6, 8, 13)),
    *(Case("Mean", v, [A, B, C], [AVERAGE]) for v in (1, 6, 8, 13)),
    *(Case(op, v, [A], [A], label="one input") for op in ("Sum", "Mean") for v in (1, 6, 8, 13)),
    Case("Sum", 1, [A, A], [2 * A], {"consumed_inputs": [1, 1]}, "consumed"),
    Case("Mean", 1, [A, A], [A], {"consumed_inputs": [1, 1]}, "consumed"),
    Case("Sum", 8, [COLUMN, A], [np.array([[4, 1, 3], [5, 2, 4]], F)], label="broadcast"),
    Case("Mean", 8, [COLUMN, A], [np.array([[2, 0.5, 1.5], [2.5, 1, 2]], F)], label="broadcast"),
    Case("Sum", 13, [np.array([256], BF)] + [np.array([1], BF)] * 2, [np.array([258], BF)], label="bfloat16"),
    Case("Mean", 13, [np.array([60000], H), np.array([60000], H)], [np.array([60000], H)], label="float16"),
    Case("Sum", 13, [np.array([np.inf, 1]), np.array([-np.inf, 2])], [np.array([np.nan, 3])], label="NaN"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_narrow_floats_are_rounded_once() -> None:
    """256 + 1 is 256 in bfloat16, so that two roundings would give 256."""
    unit = np.array([1], BF)
    assert sum_8(np.array([256], BF), unit, unit).tolist() == [258]


@pytest.mark.parametrize("op", ["Sum", "Mean"])
@pytest.mark.parametrize("version", [1, 6])
def test_the_first_versions_want_one_shape(op: str, version: int) -> None:
    with pytest.raises(EvaluationError, match=r"all inputs must have the same shape; got \[2, 1\] and \[3\]"):
        assert_case(Case(op, version, [COLUMN, A], [A]))
