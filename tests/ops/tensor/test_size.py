import numpy as np
import pytest

from cases import Case, check
from ops.tensor.questions import FLOAT, N, asked, floats, i64, samples, shape, value
from sardonyx._src.ir.types import TensorType

VERSIONS = (1, 13, 19, 21, 23, 24, 25)

CASES = [
    *(Case("Size", v, [np.zeros((2, 3), np.float32)], [i64(6)]) for v in VERSIONS),
    Case("Size", 1, [np.zeros((), np.float32)], [i64(1)], label="scalar"),
    Case("Size", 1, [np.zeros((2, 0), np.float32)], [i64(0)], label="empty"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_element_type(version: int) -> None:
    for x in samples("Size", version):
        check(Case("Size", version, [x], [i64(4)]))


def test_symbolic_sizes_multiply() -> None:
    assert value(asked("Size", 13, [floats(N, 3)])) == 3 * N
    assert value(asked("Size", 13, [floats(None, 0)])) == 0
    assert value(asked("Size", 13, [floats(None, 3)])) is None
    assert value(asked("Size", 13, [TensorType(FLOAT)])) is None
    assert shape(asked("Size", 13, [TensorType(FLOAT)])) == ()
