import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case

F, D, H = np.float32, np.float64, np.float16
X = np.array([-4, 0, 3, -np.inf, np.nan], F)

CASES = [
    *(Case("LeakyRelu", v, [X], [np.array([-1, 0, 3, -np.inf, np.nan], F)], {"alpha": 0.25}) for v in (1, 6, 16)),
    *(Case("LeakyRelu", v, [X], [np.array([-0.04, 0, 3, -np.inf, np.nan], F)], label="0.01") for v in (1, 6, 16)),
    *(Case("LeakyRelu", 16, [np.array([-4, 3], t)], [np.array([2, 3], t)], {"alpha": -0.5}, np.dtype(t).name)
      for t in (D, H, ml_dtypes.bfloat16)),
    Case("LeakyRelu", 1, [X], [X], {"alpha": 1.0, "consumed_inputs": [0]}, "consumed"),
    Case("LeakyRelu", 6, [np.array(-4, F)], [np.array(-1, F)], {"alpha": 0.25}, "scalar"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
