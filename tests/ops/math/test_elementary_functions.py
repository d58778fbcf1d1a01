"""Expected values are the functions' known constants, each to more digits than the type holds."""

import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case

F, D, H = np.float32, np.float64, np.float16
BF = ml_dtypes.bfloat16
INF, NAN = np.inf, np.nan
PI, E = 3.141592653589793238, 2.718281828459045235

VERSIONS = {
    **dict.fromkeys(["Acos", "Asin", "Atan", "Cos", "Sin", "Tan"], (7, 22)),
    **dict.fromkeys(["Acosh", "Asinh", "Atanh", "Cosh", "Sinh"], (9, 22)),
    **dict.fromkeys(["Exp", "Log", "Reciprocal", "Sqrt", "Tanh"], (1, 6, 13)),
}
POINTS: dict[str, tuple[list[float], list[float]]] = {
    "Acos": ([1, 0.5, 0, -1, 2], [0, PI / 3, PI / 2, PI, NAN]),
    "Asin": ([1, 0.5, 0, -1, 2], [PI / 2, PI / 6, 0, -PI / 2, NAN]),
    "Atan": ([1, 0, -1, INF], [PI / 4, 0, -PI / 4, PI / 2]),
    "Cos": ([0, 1, INF, NAN], [1, 0.540302305868139717, NAN, NAN]),
    "Sin": ([0, 1, -1, INF], [0, 0.841470984807896507, -0.841470984807896507, NAN]),
    "Tan": ([0, 1, -1], [0, 1.557407724654902231, -1.557407724654902231]),
    "Acosh": ([1, 2, 0.5, INF], [0, 1.316957896924816709, NAN, INF]),
    "Asinh": ([0, 1, -1, INF], [0, 0.881373587019543025, -0.881373587019543025, INF]),
    "Atanh": ([0, 0.5, 1, -2], [0, 0.549306144334054846, INF, NAN]),
    "Cosh": ([0, 1, -INF], [1, 1.543080634815243779, INF]),
    "Sinh": ([0, 1, -1], [0, 1.175201193643801457, -1.175201193643801457]),
    "Exp": ([0, 1, -1, -INF, INF], [1, E, 0.367879441171442322, 0, INF]),
    "Log": ([1, 2, 0, -1, INF], [0, 0.693147180559945309, -INF, NAN, INF]),
    "Reciprocal": ([1, 4, -2, 0, INF], [1, 0.25, -0.5, INF, 0]),
    "Sqrt": ([0, 4, 2.25, -1, INF], [0, 2, 1.5, NAN, INF]),
    "Tanh": ([0, 1, -1, INF], [0, 0.761594155955764888, -0.761594155955764888, 1]),
}

CASES = [
    *(Case(op, v, [np.array(POINTS[op][0], t)], [np.array(POINTS[op][1], t)], label=np.dtype(t).name)
      for op, versions in VERSIONS.items() for v in versions for t in (F, D, H)),
    *(Case(op, versions[-1], [np.array(POINTS[op][0][:2], BF)], [np.array(POINTS[op][1][:2], BF)], label="bfloat16")
      for op, versions in VERSIONS.items()),
    *(Case(op, versions[-1], [np.array(POINTS[op][0][1], F)], [np.array(POINTS[op][1][1], F)], label="scalar")
      for op, versions in VERSIONS.items()),
    *(Case(op, versions[-1], [np.zeros((0, 3), F)], [np.zeros((0, 3), F)], label="empty")
      for op, versions in VERSIONS.items()),
    *(Case(op, 1, [np.array(POINTS[op][0], F)], [np.array(POINTS[op][1], F)], {"consumed_inputs": [0]}, "consumed")
      for op, versions in VERSIONS.items() if 1 in versions),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
