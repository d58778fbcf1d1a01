import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case

X = [-3, 0, 1, 4, np.nan]
Y = [-0.75, 0, 0.5, 0.8, np.nan]

CASES = [
    *(Case("Softsign", v, [np.array(X, t)], [np.array(Y, t)], label=np.dtype(t).name)
      for v in (1, 22) for t in (np.float32, np.float64, np.float16)),
    Case("Softsign", 22, [np.array(X, ml_dtypes.bfloat16)], [np.array(Y, ml_dtypes.bfloat16)], label="bfloat16"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
