import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case

F = np.float32
X = np.array([-3, -1, 0, 1, 3, np.inf, np.nan], F)

CASES = [
    *(Case("HardSigmoid", v, [X], [np.array([0, 0.3, 0.5, 0.7, 1, 1, np.nan], F)]) for v in (1, 6, 22)),
    *(Case("HardSigmoid", v, [X], [np.array([0, 0.125, 0.625, 1, 1, 1, np.nan], F)], {"alpha": 0.5, "beta": 0.625})
      for v in (1, 6, 22)),
    *(Case("HardSigmoid", 22, [np.array([-1, 0], t)], [np.array([0.25, 0.75], t)], {"alpha": 0.5, "beta": 0.75},
           np.dtype(t).name) for t in (np.float64, np.float16, ml_dtypes.bfloat16)),
    Case("HardSigmoid", 1, [X[:1]], [np.array([0], F)], {"consumed_inputs": [0]}, "consumed"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
