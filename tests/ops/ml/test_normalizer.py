import numpy as np
import pytest

from cases import Case, assert_case
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array

F, ML = np.float32, "ai.onnx.ml"


def case(norm: str, x: Array, y: list[object], label: str = "") -> Case:
    return Case("Normalizer", 1, [x], [np.array(y, F)], {"norm": norm}, domain=ML, label=label)


ROWS = np.array([[3, -4, 1], [0, 0, 0], [-1, -2, -4]], F)

CASES = [
    case("MAX", ROWS, [[1, -4 / 3, 1 / 3], [0, 0, 0], [1, 2, 4]]),
    case("L1", ROWS, [[3 / 8, -0.5, 1 / 8], [0, 0, 0], [-1 / 7, -2 / 7, -4 / 7]]),
    case("L2", np.array([[3, -4], [0, 0]], F), [[0.6, -0.8], [0, 0]]),
    case("L2", np.array([3, -4], F), [0.6, -0.8], "one row"),
    case("L2", np.array([[6, 8]]), [[0.6, 0.8]], "integers"),
    case("L1", np.array([[1e300, 1e300]]), [[0.5, 0.5]], "float64"),
    case("MAX", np.array([[0, -2]], F), [[0, -2]], "a divisor of 0"),
    case("L1", np.zeros((2, 0), F), [[], []], "no features"),
    Case(
        "Normalizer", 1, [np.array([[1, 2]], F)], [np.array([[0.5, 1]], F)], domain=ML, label="MAX by default"
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_what_is_no_batch_of_rows_is_refused() -> None:
    for x in (np.zeros((1, 2, 3), F), np.array(1, F)):
        with pytest.raises(EvaluationError, match=r"X must be \[N, C\] or \[C\]"):
            assert_case(case("L1", x, []))
