import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case

F, D, H = np.float32, np.float64, np.float16
BF = ml_dtypes.bfloat16
FLOAT8 = [
    ml_dtypes.float8_e4m3fn,
    ml_dtypes.float8_e4m3fnuz,
    ml_dtypes.float8_e5m2,
    ml_dtypes.float8_e5m2fnuz,
]
KINDS = {9: [F, D, H], 13: [F, D, H, BF], 20: [F, D, H, BF, *FLOAT8]}

CASES = [
    *(Case("IsNaN", v, [np.array([1, np.nan, 0, -2], t)], [np.array([False, True, False, False])],
           label=np.dtype(t).name) for v, types in KINDS.items() for t in types),
    Case("IsNaN", 20, [np.array([np.inf, -np.inf], F)], [np.array([False, False])], label="infinities"),
    Case("IsNaN", 20, [np.array(np.nan, F)], [np.array(True)], label="scalar"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
