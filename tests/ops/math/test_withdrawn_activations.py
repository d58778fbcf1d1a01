import numpy as np
import pytest

from cases import Case, assert_case
from sardonyx._src.errors import EvaluationError

TYPES = [np.float32, np.float64, np.float16]
X = [-1, 0, 2]
AB = {"alpha": 2.0, "beta": 0.5}
SOFTPLUS_OF_HALF = [
    0.948153968360213292,
    1.386294361119890619,
    2.626523375036445668,
]  # 2 * log(exp(x / 2) + 1)
TANH_OF_HALF = [-0.924234314520019516, 0, 1.523188311911529777]  # 2 * tanh(x / 2)

CASES = [
    *(Case("Affine", 1, [np.array(X, t)], [np.array([-1.5, 0.5, 4.5], t)], AB) for t in TYPES),
    *(Case("Affine", 1, [np.array(X, t)], [np.array(X, t)], label="defaults") for t in TYPES),
    *(Case("Scale", 1, [np.array(X, t)], [np.array([-3, 0, 6], t)], {"scale": 3.0}) for t in TYPES),
    *(Case("Scale", 1, [np.array(X, t)], [np.array(X, t)], label="default") for t in TYPES),
    *(Case("ScaledTanh", 1, [np.array(X, t)], [np.array(TANH_OF_HALF, t)], AB) for t in TYPES),
    *(Case("ParametricSoftplus", 1, [np.array(X, t)], [np.array(SOFTPLUS_OF_HALF, t)], AB) for t in TYPES),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("op", ["ParametricSoftplus", "ScaledTanh"])
@pytest.mark.parametrize("missing", ["alpha", "beta"])
def test_an_attribute_without_default_is_required(op: str, missing: str) -> None:
    given = {name: value for name, value in AB.items() if name != missing}
    with pytest.raises(EvaluationError, match=f"attribute {missing} must be set"):
        assert_case(Case(op, 1, [np.array(X, np.float32)], [np.array(X)], given))
