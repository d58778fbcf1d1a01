import math

import numpy as np
import pytest

from cases import Case, assert_case
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ops.api import RuntimeValue

F = np.float32


def array(values: object) -> np.ndarray:
    return np.array(values, F)


BEFORE = array([[[8], [8]]])
GATES = array([[[99, 0, 1], [99, 0, 1]]])  # z = 1/2; the reset gate is not read
AFTER = 4 + 0.5 * math.tanh(1)
LENGTHS = array([3, 2])
T = array(2)

CASES = [
    Case("GRUUnit", 1, [BEFORE, GATES, LENGTHS, T], [array([[[AFTER], [8]]])]),
    Case(
        "GRUUnit",
        1,
        [BEFORE, GATES, LENGTHS, T],
        [array([[[AFTER], [0]]])],
        {"drop_states": 1},
        "drop_states",
    ),
    Case("GRUUnit", 1, [BEFORE[0], GATES[0], LENGTHS, array([2])], [array([[AFTER], [8]])], label="rank 2"),
    Case(
        "GRUUnit",
        1,
        [x.astype(np.float16) for x in (BEFORE, GATES, LENGTHS, T)],
        [array([[[AFTER], [8]]]).astype(np.float16)],
        label="float16",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(
    "inputs",
    [
        [BEFORE, GATES[..., :2], LENGTHS, T],
        [BEFORE, GATES, LENGTHS[:1], T],
        [BEFORE, GATES, LENGTHS, LENGTHS],
    ],
)
def test_shapes_that_do_not_fit_are_refused(inputs: list[RuntimeValue]) -> None:
    with pytest.raises(EvaluationError, match="must have shape"):
        assert_case(Case("GRUUnit", 1, inputs, [...]))
