import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case

F = np.float32
X = np.array([-1, 0, 2, -np.inf, np.inf, np.nan], F)
Y = np.array([-3 * 0.632120558828557678, 0, 3, -3, np.inf, np.nan], F)  # 1.5 * 2 * (1/e - 1), 1.5 * 2
GIVEN = {"alpha": 2.0, "gamma": 1.5}
FIRST = [1.6732000112533569, 1.0506999492645264]  # alpha, gamma by default
LATER = [1.67326319217681884765625, 1.05070102214813232421875]

CASES = [
    *(Case("Selu", v, [X], [Y], GIVEN) for v in (1, 6, 22)),
    *(Case("Selu", v, [np.array([-np.inf, 1], F)], [np.array([-a * g, g], F)], label="defaults")
      for v, (a, g) in ((1, FIRST), (6, LATER), (22, LATER))),
    *(Case("Selu", 22, [X.astype(t)], [Y.astype(t)], GIVEN, np.dtype(t).name)
      for t in (np.float16, ml_dtypes.bfloat16)),
    Case("Selu", 22, [np.array([-1.0, 2.0])], [np.array([-3 * 0.632120558828557678, 3])], GIVEN, "double"),
    Case("Selu", 1, [X], [Y], {**GIVEN, "consumed_inputs": [0]}, "consumed"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
