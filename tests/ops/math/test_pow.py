import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from sardonyx._src.errors import EvaluationError

F, I32, I64, U64, H = np.float32, np.int32, np.int64, np.uint64, np.float16
BF = ml_dtypes.bfloat16
INF, NAN = np.inf, np.nan
X = np.array([1, 2, 3], F)

CASES = [
    Case("Pow", 15, [X, np.array([4, 5, 6], F)], [np.array([1, 32, 729], F)]),
    Case("Pow", 15, [X, np.array([4, 5, 6], BF)], [np.array([1, 32, 729], F)], label="bfloat16 exponent"),
    Case("Pow", 15, [np.array([2, 9], BF), np.array([3, 0.5], F)], [np.array([8, 3], BF)], label="bfloat16 base"),
    Case("Pow", 15, [np.array([2, 3], I32), np.array([1.5, -1], F)], [np.array([2, 0], I32)], label="toward zero"),
    Case("Pow", 15, [np.array([-2, -3], I64), np.array([3.0, 2.0])], [np.array([-8, 9], I64)]),
    Case("Pow", 15, [np.array([NAN, 0, -8, 0, 2], F), np.array([0, 0, 1 / 3, -1, -INF], F)],
         [np.array([1, 1, NAN, INF, 0], F)], label="special"),
    Case("Pow", 13, [np.array([2, 3], BF), np.array([3, 2], I64)], [np.array([8, 9], BF)]),
    Case("Pow", 13, [np.array([1.5], H), np.array([2], np.uint8)], [np.array([2.25], H)]),
    Case("Pow", 12, [np.array([3], I64), np.array([39], I64)], [np.array([3**39])], label="beyond float64"),
    Case("Pow", 12, [np.array([3, 2], I32), np.array([21, 31], I32)],
         [np.array([3**21 - 2 * 2**32, -(2**31)]).astype(I32)], label="wraps"),
    Case("Pow", 12, [np.array([3], I64), np.array([2**63 + 1], U64)],
         [np.array([pow(3, 2**63 + 1, 2**64)], U64).view(I64)], label="unsigned exponent"),
    Case("Pow", 12, [np.array([1, -1, -1, 2, -5], I64), np.array([-3, -3, -4, -1, -1], I64)],
         [np.array([1, -1, 1, 0, 0], I64)], label="negative exponents"),
    Case("Pow", 12, [np.array([2, 16], F), np.array([-1, -2], I64)], [np.array([0.5, 1 / 256], F)]),
    Case("Pow", 7, [X, np.array(2, F)], [np.array([1, 4, 9], F)]),
    Case("Pow", 7, [np.array([[2.0], [3.0]]), np.array([2.0, 3.0])], [np.array([[4.0, 8.0], [9.0, 27.0]])]),
    Case("Pow", 1, [X, np.array([2], F)], [np.array([1, 4, 9], F)], {"broadcast": 1}),
    Case("Pow", 1, [np.array([[2, 3], [4, 5]], F), np.array([1, 2], F)],
         [np.array([[2, 3], [16, 25]], F)], {"broadcast": 1, "axis": 0}),
]  # fmt: skip

REFUSED = [
    (Case("Pow", 15, [np.array([0], I64), np.array([-1], I64)], [X]), "0 to a negative power"),
    (Case("Pow", 15, [np.array([-2], I32), np.array([0.5], F)], [X]), "gives nan"),
    (Case("Pow", 15, [np.array([3], I32), np.array([40], F)], [X]), "int32 does not hold"),
    (Case("Pow", 15, [np.array(0, I32), np.array(-1, F)], [X]), "gives inf"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize(("case", "why"), REFUSED)
def test_integers_refuse(case: Case, why: str) -> None:
    with pytest.raises(EvaluationError, match=why):
        assert_case(case)


def test_integer_powers_are_those_of_the_ring_modulo_two_to_the_bits() -> None:
    bases = np.arange(-9, 10, dtype=I32).reshape(-1, 1)
    exponents = np.arange(0, 70, dtype=I32)
    ring = [[pow(int(b), int(e), 2**32) for e in exponents] for b in bases[:, 0]]
    assert_case(Case("Pow", 15, [bases, exponents], [np.array(ring, U64).astype(np.uint32).view(I32)]))
