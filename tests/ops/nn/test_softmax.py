import numpy as np
import pytest

from cases import Case, assert_case
from sardonyx._src.dtypes import DataType

F = np.float32
ROW = np.array([[1, 2, 3]], F)
PART = np.array([[0.09003057, 0.24472848, 0.66524094]], F)  # exp(k) / (e + e^2 + e^3)
QUARTERS = np.full((2, 2, 2), 0.25, F)

CASES = [
    Case("Softmax", 13, [ROW], [PART]),
    Case("Softmax", 13, [ROW.T], [PART.T], {"axis": 0}),
    Case(
        "Softmax", 13, [np.zeros((2, 2, 2), F)], [np.full((2, 2, 2), 0.5, F)], {"axis": 1}, "one axis alone"
    ),
    Case("Softmax", 13, [np.array([1000, 1000], F)], [np.array([0.5, 0.5], F)], label="no overflow"),
    Case("Softmax", 13, [np.zeros((2, 0), F)], [np.zeros((2, 0), F)], label="empty"),
    Case("Softmax", 11, [np.zeros((2, 2, 2), F)], [QUARTERS], {"axis": 1}, "rows from axis on"),
    Case("Softmax", 11, [np.zeros((2, 2, 2), F)], [QUARTERS], {"axis": -2}, "negative axis"),
    Case("Softmax", 1, [np.zeros((2, 2, 2), F)], [QUARTERS], label="axis 1 by default"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_narrow_floats_are_rounded_at_every_step(name: str) -> None:
    dtype = DataType.parse(name).numpy
    assert_case(Case("Softmax", 13, [np.zeros((1, 3), dtype)], [np.full((1, 3), 1 / 3, F).astype(dtype)]))
