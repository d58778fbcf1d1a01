import math

import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case

F, D, H = np.float32, np.float64, np.float16
X = [-1.0, 0.0, 1.0, 3.0]
BELOW = [0.158655253931457051, 0.5, 0.841344746068542949, 0.998650101968369905]  # of the normal distribution
NONE = [x * p for x, p in zip(X, BELOW, strict=True)]
TANH = [0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) for x in X]

CASES = [
    *(Case("Gelu", 20, [np.array(X, t)], [np.array(NONE, t)], label=np.dtype(t).name)
      for t in (F, D, H, ml_dtypes.bfloat16)),
    *(Case("Gelu", 20, [np.array(X, t)], [np.array(TANH, t)], {"approximate": "tanh"}, np.dtype(t).name)
      for t in (F, D, H, ml_dtypes.bfloat16)),
    Case("Gelu", 20, [np.array(X, F)], [np.array(NONE, F)], {"approximate": "none"}),
    Case("Gelu", 20, [np.array([np.inf, np.nan, -100], F)], [np.array([np.inf, np.nan, 0], F)], label="special"),
    Case("Gelu", 20, [np.array(1, F)], [np.array(NONE[2], F)], label="scalar"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
