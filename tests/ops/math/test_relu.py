import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case

F, D, H = np.float32, np.float64, np.float16
X = [-1.5, 0, 2, np.inf, -np.inf, np.nan]
Y = [0, 0, 2, np.inf, 0, np.nan]

CASES = [
    *(Case("Relu", v, [np.array(X, t)], [np.array(Y, t)], label=np.dtype(t).name)
      for v in (1, 6, 13, 14) for t in (F, D, H)),
    *(Case("Relu", v, [np.array(X[:3], ml_dtypes.bfloat16)], [np.array(Y[:3], ml_dtypes.bfloat16)], label="bfloat16")
      for v in (13, 14)),
    *(Case("Relu", 14, [np.array([-128, 0, 127], t)], [np.array([0, 0, 127], t)], label=np.dtype(t).name)
      for t in (np.int8, np.int16, np.int32, np.int64)),
    Case("Relu", 1, [np.array(X, F)], [np.array(Y, F)], {"consumed_inputs": [1]}, "consumed"),
    Case("Relu", 14, [np.array(-3, F)], [np.array(0, F)], label="scalar"),
    Case("Relu", 14, [np.zeros((2, 0), F)], [np.zeros((2, 0), F)], label="empty"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
