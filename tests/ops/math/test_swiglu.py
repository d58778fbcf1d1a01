import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from sardonyx._src.errors import EvaluationError

A = [[-1, 0], [1, 2]]
B = [[2, 5], [-4, 0.5]]
Y = [[-0.537882842739990242, 0], [-2.924234314520019517, 0.880797077977882444]]  # a * sigmoid(a) * b
STEEP = [[-0.238405844044235120, 0], [-3.523188311911529760, 0.982013790037908360]]  # alpha=2

CASES = [
    *(Case("SwiGLU", 28, [np.array(A, t), np.array(B, t)], [np.array(Y, t)], label=np.dtype(t).name)
      for t in (np.float32, np.float64, np.float16, ml_dtypes.bfloat16)),
    *(Case("SwiGLU", 28, [np.array(A, t), np.array(B, t)], [np.array(STEEP, t)], {"alpha": 2.0}, np.dtype(t).name)
      for t in (np.float32, np.float64)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_nothing_is_broadcast() -> None:
    with pytest.raises(EvaluationError, match=r"all inputs must have the same shape; got \[2, 2\] and \[2\]"):
        assert_case(Case("SwiGLU", 28, [np.ones((2, 2)), np.ones(2)], [np.ones((2, 2))]))
