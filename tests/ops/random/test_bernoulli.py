import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from ops.random.draws import assert_repeatable, draw
from ops.tensor.operator_facets import (
    M,
    N,
    assert_contradiction,
    assert_refused,
    f32,
    floats,
    infer_types,
    make_inference,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import TensorType

SURE = f32([[0, 1, 1], [1, 0, 0]])
ANY = {
    1: "f4",
    2: "u1",
    3: "i1",
    4: "u2",
    5: "i2",
    6: "i4",
    7: "i8",
    9: "?",
    10: "f2",
    11: "f8",
    12: "u4",
    13: "u8",
}

CASES = [
    *(Case("Bernoulli", v, [SURE], [SURE]) for v in (15, 22)),
    *(Case("Bernoulli", v, [SURE], [SURE.astype(d)], {"dtype": n}) for v in (15, 22) for n, d in ANY.items()),
    *(Case("Bernoulli", v, [SURE], [SURE.astype(ml_dtypes.bfloat16)], {"dtype": 16}) for v in (15, 22)),
    *(Case("Bernoulli", 15, [SURE.astype(d)], [SURE.astype(d)], label=d) for d in ("f2", "f8")),
    Case("Bernoulli", 22, [SURE.astype(ml_dtypes.bfloat16)], [SURE.astype(ml_dtypes.bfloat16)], label="bfloat16"),
    Case("Bernoulli", 22, [f32([])], [f32([])], label="empty"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_certain(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.8])
def test_ones_have_the_given_probability(p: float) -> None:
    x = draw("Bernoulli", 22, [np.full(20000, p, np.float32)], {"seed": 3.0})
    assert set(x.tolist()) == {0, 1}
    assert x.mean() == pytest.approx(p, abs=0.01)


def test_seeds_repeat_the_numbers() -> None:
    assert_repeatable("Bernoulli", 22, [np.full(64, 0.5, np.float32)], {})


def test_what_is_no_probability_is_refused() -> None:
    for p in (-0.1, 1.1, np.nan):
        assert_refused(
            Case("Bernoulli", 15, [f32([p])], [SURE]), r"probabilities must be in \[0, 1\]; got others"
        )
    assert_refused(
        Case("Bernoulli", 22, [SURE], [SURE], {"dtype": 8}),
        r"10 \(float16\), 11 \(double\), 12 \(uint32\), 13 \(uint64\), 16 \(bfloat16\); got 8",
    )


def test_types_are_known() -> None:
    assert infer_types(make_inference("Bernoulli", 22, [floats(N, M)])) == [floats(N, M)]
    assert infer_types(make_inference("Bernoulli", 15, [floats(N)], dtype=9)) == [
        TensorType(DataType.BOOL, (N,))
    ]
    assert infer_types(make_inference("Bernoulli", 15, [None])) == [None]
    assert_contradiction(
        make_inference("Bernoulli", 15, [floats(N)], dtype=8),
        r"10 \(float16\), 11 \(double\), 12 \(uint32\), 13 \(uint64\), 16 \(bfloat16\); got 8",
    )
