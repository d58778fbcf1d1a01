import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case

F = np.float32
X = np.array([-1, 0, 2, -np.inf, np.inf, np.nan, 1000], F)
Y = np.array([-0.632120558828557678, 0, 2, -1, np.inf, np.nan, 1000], F)  # 1/e - 1
WIDE = np.array([-0.786938680574733153, 0, 2, -2, np.inf, np.nan, 1000], F)  # 2 * (exp(-1/2) - 1)

CASES = [
    *(Case("Celu", v, [X], [Y]) for v in (12, 28)),
    *(Case("Celu", v, [X], [WIDE], {"alpha": 2.0}) for v in (12, 28)),
    *(Case("Celu", 28, [X[:3].astype(t)], [WIDE[:3].astype(t)], {"alpha": 2.0}, np.dtype(t).name)
      for t in (np.float16, ml_dtypes.bfloat16)),
    Case("Celu", 28, [np.array([-1.0, 3.0])], [np.array([-0.786938680574733153, 3.0])], {"alpha": 2.0}, "double"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
