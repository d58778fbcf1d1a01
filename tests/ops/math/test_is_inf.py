import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case

F, D, H = np.float32, np.float64, np.float16
WITH_INFINITY = [F, D, H, ml_dtypes.bfloat16, ml_dtypes.float8_e5m2]
WITHOUT = [ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e4m3fnuz, ml_dtypes.float8_e5m2fnuz]
X = [-1.5, np.inf, -np.inf, np.nan, 0]

CASES = [
    *(Case("IsInf", 10, [np.array(X, t)], [np.array([False, True, True, False, False])]) for t in (F, D)),
    *(Case("IsInf", 20, [np.array(X, t)], [np.array([False, True, True, False, False])], label=np.dtype(t).name)
      for t in WITH_INFINITY),
    *(Case("IsInf", 20, [np.array([1, np.nan, -4], t)], [np.array([False, False, False])], label=np.dtype(t).name)
      for t in WITHOUT),
    *(Case("IsInf", v, [np.array(X, F)], [np.array([False, True, False, False, False])], {"detect_negative": 0})
      for v in (10, 20)),
    *(Case("IsInf", v, [np.array(X, F)], [np.array([False, False, True, False, False])], {"detect_positive": 0})
      for v in (10, 20)),
    Case("IsInf", 20, [np.array(X, F)], [np.zeros(5, np.bool_)], {"detect_negative": 0, "detect_positive": 0}),
    Case("IsInf", 20, [np.array(np.inf, F)], [np.array(True)], label="scalar"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
