import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case

F = np.float32
X = [-1, 0, 1, -np.inf, np.inf, np.nan, -1000, 1000]
Y = [0.268941421369995121, 0.5, 0.731058578630004879, 0, 1, np.nan, 0, 1]

CASES = [
    *(Case("Sigmoid", v, [np.array(X, t)], [np.array(Y, t)], label=np.dtype(t).name)
      for v in (1, 6, 13) for t in (F, np.float64, np.float16)),
    Case("Sigmoid", 13, [np.array(X, ml_dtypes.bfloat16)], [np.array(Y, ml_dtypes.bfloat16)], label="bfloat16"),
    Case("Sigmoid", 1, [np.array(X, F)], [np.array(Y, F)], {"consumed_inputs": [0]}, "consumed"),
    Case("Sigmoid", 13, [np.array(0, F)], [np.array(0.5, F)], label="scalar"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
