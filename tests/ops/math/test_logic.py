import numpy as np
import pytest

from cases import Case, assert_case
from sardonyx._src.errors import EvaluationError

A = np.array([False, False, True, True])
B = np.array([False, True, False, True])
TABLE = {
    "And": np.array([False, False, False, True]),
    "Or": np.array([False, True, True, True]),
    "Xor": np.array([False, True, True, False]),
}
GRID = np.array([[True, True], [False, False]])
AT_AXIS_0 = {  # GRID with [False, True] for its rows
    "And": np.array([[False, False], [False, False]]),
    "Or": np.array([[True, True], [True, True]]),
    "Xor": np.array([[True, True], [True, True]]),
}
AT_THE_END = {  # GRID with [False, True] for its columns
    "And": np.array([[False, True], [False, False]]),
    "Or": np.array([[True, True], [False, True]]),
    "Xor": np.array([[True, False], [False, True]]),
}
PAIR = np.array([False, True])

CASES = [
    *(Case(op, v, [A, B], [TABLE[op]]) for op in TABLE for v in (1, 7)),
    *(Case(op, 7, [GRID, PAIR], [AT_THE_END[op]], label="broadcast") for op in TABLE),
    *(Case(op, 1, [GRID, PAIR], [AT_THE_END[op]], {"broadcast": 1}, "last dims") for op in TABLE),
    *(Case(op, 1, [GRID, PAIR], [AT_AXIS_0[op]], {"broadcast": 1, "axis": 0}, "axis") for op in TABLE),
    Case("Not", 1, [B], [np.array([True, False, True, False])]),
    Case("Not", 1, [np.array(True)], [np.array(False)], label="scalar"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("op", TABLE)
def test_broadcast_is_off_by_default_in_version_1(op: str) -> None:
    with pytest.raises(EvaluationError, match="broadcast=0"):
        assert_case(Case(op, 1, [GRID, PAIR], [GRID]))
