import numpy as np
import pytest

from cases import Case, assert_case
from sardonyx._src.errors import EvaluationError

F, I8, I64, U8 = np.float32, np.int8, np.int64, np.uint8
X = [-2, -1.5, -0.5, 0, 0.5, 1.5, 2]

CASES = [
    *(Case("Shrink", 9, [np.array(X, t)], [np.array([-2, -1.5, 0, 0, 0, 1.5, 2], t)], label=np.dtype(t).name)
      for t in (F, np.float64, np.float16)),
    *(Case("Shrink", 9, [np.array(X, t)], [np.array([-0.5, 0, 0, 0, 0, 0, 0.5], t)], {"bias": 1.5},
           np.dtype(t).name) for t in (F, np.float64, np.float16)),
    Case("Shrink", 9, [np.array(X, F)], [np.array([-1, 0, 0, 0, 0, 0, 1], F)], {"bias": 1.0, "lambd": 1.5}),
    Case("Shrink", 9, [np.array([np.inf, -np.inf, np.nan], F)], [np.array([np.inf, -np.inf, 0], F)], label="special"),
    Case("Shrink", 9, [np.array([-3, -1, 1, 3], I8)], [np.array([-2, 0, 0, 2], I8)], {"bias": 1.75, "lambd": 1.5}),
    Case("Shrink", 9, [np.array([0, 1, 2, 200], U8)], [np.array([0, 2, 3, 201], U8)], {"bias": -1.0}, "unsigned"),
    Case("Shrink", 9, [np.array([2**62 + 1], I64)], [np.array([2**62])], {"bias": 1.0}, "exact integers"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_integers_want_a_finite_bias() -> None:
    with pytest.raises(EvaluationError, match="bias must be finite for elements of int64; got inf"):
        assert_case(Case("Shrink", 9, [np.array([1])], [np.array([1])], {"bias": float("inf")}))
