import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case

F = np.float32
X = np.array([-1, 0, 2, -np.inf, np.inf, np.nan, 1000], F)
Y = np.array([-0.632120558828557678, 0, 2, -1, np.inf, np.nan, 1000], F)  # 1/e - 1
DOUBLED = np.array([-1.264241117657115357, 0, 2, -2, np.inf, np.nan, 1000], F)

CASES = [
    *(Case("Elu", v, [X], [Y]) for v in (1, 6, 22)),
    *(Case("Elu", v, [X], [DOUBLED], {"alpha": 2.0}) for v in (1, 6, 22)),
    *(
        Case("Elu", 22, [X.astype(t)], [Y.astype(t)], label=np.dtype(t).name)
        for t in (np.float16, ml_dtypes.bfloat16)
    ),
    Case(
        "Elu",
        22,
        [np.array([-1.0, -1e-10])],
        [np.array([-0.632120558828557678, -9.9999999995e-11])],
        label="double",
    ),
    Case("Elu", 1, [X], [Y], {"consumed_inputs": [0]}, "consumed"),
    Case("Elu", 22, [np.array(-1, F)], [np.array(Y[0], F)], label="scalar"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
