import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from sardonyx._src.ops.math.rounding import ceil, floor, round_

F, D, H = np.float32, np.float64, np.float16
BF = ml_dtypes.bfloat16
X = [-2.5, -1.5, -0.5, -0.25, 0.5, 1.5, 2.5, 2.75, np.inf, -np.inf, np.nan, 3]
EXPECTED = {
    "Ceil": [-2, -1, 0, 0, 1, 2, 3, 3, np.inf, -np.inf, np.nan, 3],
    "Floor": [-3, -2, -1, -1, 0, 1, 2, 2, np.inf, -np.inf, np.nan, 3],
    "Round": [-2, -2, 0, 0, 0, 2, 2, 3, np.inf, -np.inf, np.nan, 3],
}
VERSIONS = {"Ceil": (1, 6, 13), "Floor": (1, 6, 13), "Round": (11, 22)}

CASES = [
    *(Case(op, v, [np.array(X, t)], [np.array(EXPECTED[op], t)], label=np.dtype(t).name)
      for op, versions in VERSIONS.items() for v in versions for t in (F, D, H)),
    *(Case(op, versions[-1], [np.array(X[:8], BF)], [np.array(EXPECTED[op][:8], BF)],
           label="bfloat16")
      for op, versions in VERSIONS.items() if op == "Floor"),
    *(Case(op, 1, [np.array([1.5], F)], [np.array([EXPECTED[op][5]], F)], {"consumed_inputs": [0]}, "consumed")
      for op in ("Ceil", "Floor")),
    Case("Ceil", 13, [np.array([1.5, 2], BF)], [np.array([2, 2], BF)], label="bfloat16"),
    Case("Round", 22, [np.array([1.5, 2.5], BF)], [np.array([2, 2], BF)], label="bfloat16"),
    Case("Round", 22, [np.array(0.9, F)], [np.array(1, F)], label="scalar"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_zeros_keep_their_sign() -> None:
    for op, version in ((ceil, 13), (floor, 13), (round_, 22)):
        result = op.kernels[version].function(np.array([-0.0, 0.0], F))
        assert isinstance(result, np.ndarray)
        assert np.signbit(result).tolist() == [True, False], op.name
