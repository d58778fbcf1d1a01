import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case

X = [-4, -3, -1.5, 0, 1.5, 3, 5]
Y = [0, 0, -0.375, 0, 1.125, 3, 5]

CASES = [
    *(Case("HardSwish", v, [np.array(X, t)], [np.array(Y, t)], label=np.dtype(t).name)
      for v in (14, 22) for t in (np.float32, np.float64, np.float16)),
    Case("HardSwish", 22, [np.array(X, ml_dtypes.bfloat16)], [np.array(Y, ml_dtypes.bfloat16)], label="bfloat16"),
    Case("HardSwish", 22, [np.array([np.inf, np.nan])], [np.array([np.inf, np.nan])], label="special"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
