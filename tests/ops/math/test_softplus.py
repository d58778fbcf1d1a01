import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case

F = np.float32
X = [0, 1, -1, 1000, -1000, np.inf, -np.inf, np.nan]
Y = [0.693147180559945309, 1.313261687518222834, 0.313261687518222834, 1000, 0, np.inf, 0, np.nan]

CASES = [
    *(
        Case("Softplus", v, [np.array(X, t)], [np.array(Y, t)], label=np.dtype(t).name)
        for v in (1, 22)
        for t in (F, np.float64, np.float16)
    ),
    Case(
        "Softplus", 22, [np.array(X, ml_dtypes.bfloat16)], [np.array(Y, ml_dtypes.bfloat16)], label="bfloat16"
    ),
    Case("Softplus", 22, [np.array(0, F)], [np.array(Y[0], F)], label="scalar"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
