import math

import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case

X = [0.0, 1.0, -1.0, 20.0]
# tanh(log(1 + e)) is ((1 + e)**2 - 1) / ((1 + e)**2 + 1)
Y = [x * ((1 + math.exp(x)) ** 2 - 1) / ((1 + math.exp(x)) ** 2 + 1) for x in X]

CASES = [
    *(Case("Mish", v, [np.array(X, t)], [np.array(Y, t)], label=np.dtype(t).name)
      for v in (18, 22) for t in (np.float32, np.float64, np.float16)),
    Case("Mish", 22, [np.array(X, ml_dtypes.bfloat16)], [np.array(Y, ml_dtypes.bfloat16)], label="bfloat16"),
    Case("Mish", 22, [np.array([1000, -1000, np.nan])], [np.array([1000, 0, np.nan])], label="special"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
