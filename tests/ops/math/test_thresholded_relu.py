import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case

F = np.float32
X = np.array([-3, 1, 1.5, 3, np.inf, np.nan], F)

CASES = [
    *(Case("ThresholdedRelu", v, [X], [np.array([0, 0, 1.5, 3, np.inf, 0], F)]) for v in (1, 10, 22)),
    *(Case("ThresholdedRelu", v, [X], [np.array([0, 0, 0, 3, np.inf, 0], F)], {"alpha": 2.0}) for v in (1, 10, 22)),
    *(Case("ThresholdedRelu", v, [X], [np.array([0, 1, 1.5, 3, np.inf, 0], F)], {"alpha": -2.0}) for v in (10, 22)),
    *(Case("ThresholdedRelu", 22, [np.array([1, 2], t)], [np.array([0, 2], t)], label=np.dtype(t).name)
      for t in (np.float64, np.float16, ml_dtypes.bfloat16)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
