import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case

X = [-1, 0, 1, 2]
Y = [-0.268941421369995121, 0, 0.731058578630004879, 1.761594155955764888]  # x * sigmoid(x)
STEEP = [-0.119202922022117560, 0, 0.880797077977882440, 1.964027580075816720]  # x * sigmoid(2 * x)

CASES = [
    *(Case("Swish", 24, [np.array(X, t)], [np.array(Y, t)], label=np.dtype(t).name)
      for t in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)),
    *(Case("Swish", 24, [np.array(X, t)], [np.array(STEEP, t)], {"alpha": 2.0}, np.dtype(t).name)
      for t in (np.float32, np.float64)),
    Case("Swish", 24, [np.array([1000, -1000, np.nan])], [np.array([1000, 0, np.nan])], label="special"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
