import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from ops.random.draws import assert_repeatable, draw
from ops.tensor.operator_facets import (
    N,
    assert_contradiction,
    assert_refused,
    assert_too_large,
    f32,
    floats,
    infer_types,
    make_inference,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import TensorType

LOW = -np.inf
SURE = f32([[LOW, 5, LOW], [0, LOW, LOW], [LOW, LOW, -700]])
OUT = np.array([[1], [0], [2]], np.int32)

CASES = [
    *(Case("Multinomial", v, [SURE], [OUT]) for v in (7, 22)),
    *(Case("Multinomial", v, [SURE], [OUT.astype(np.int64)], {"dtype": 7}) for v in (7, 22)),
    *(Case("Multinomial", v, [SURE], [np.repeat(OUT, 4, 1)], {"sample_size": 4}) for v in (7, 22)),
    *(Case("Multinomial", 7, [SURE.astype(d)], [OUT], label=d) for d in ("f2", "f8")),
    Case("Multinomial", 22, [SURE.astype(ml_dtypes.bfloat16)], [OUT], label="bfloat16"),
    Case("Multinomial", 22, [SURE], [OUT[:, :0]], {"sample_size": 0}, "no samples"),
    Case("Multinomial", 22, [SURE[:0]], [OUT[:0]], label="no batches"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_what_is_certain(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("shift", [0, -1000, 1000])
def test_classes_come_as_often_as_their_exponentials_say(shift: float) -> None:
    logs = np.log(np.array([[1, 2, 5], [6, 1, 1]])) + shift
    x = draw("Multinomial", 22, [logs], {"sample_size": 20000, "seed": 4.0})
    counts = [np.bincount(row, minlength=3) / 20000 for row in x]
    assert counts[0] == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=0.01)
    assert counts[1] == pytest.approx([6 / 8, 1 / 8, 1 / 8], abs=0.01)


def test_seeds_repeat_the_numbers() -> None:
    assert_repeatable("Multinomial", 7, [f32([[0, 0, 0]])], {"sample_size": 64})


def test_what_has_no_probabilities_is_refused() -> None:
    for row in ([LOW, LOW], [np.nan, 0], [np.inf, 0], []):
        assert_refused(
            Case("Multinomial", 22, [f32([row])], [OUT]),
            "each batch must have finite logarithms, or -inf for some classes",
        )
    assert_refused(Case("Multinomial", 22, [SURE[0]], [OUT]), "rank 1")
    assert_refused(
        Case("Multinomial", 22, [SURE], [OUT], {"dtype": 1}),
        r"dtype must be one of 6 \(int32\), 7 \(int64\); got 1",
    )
    assert_too_large(Case("Multinomial", 22, [SURE], [OUT], {"sample_size": 1 << 40}))


def test_types_are_known() -> None:
    assert infer_types(make_inference("Multinomial", 22, [floats(N, 3)])) == [
        TensorType(DataType.INT32, (N, 1))
    ]
    assert infer_types(make_inference("Multinomial", 7, [None], dtype=7, sample_size=4)) == [
        TensorType(DataType.INT64, (None, 4))
    ]
    assert_contradiction(make_inference("Multinomial", 7, [floats(N)]), "rank 1")
    assert_contradiction(
        make_inference("Multinomial", 7, [floats(N, 3)], dtype=1),
        r"dtype must be one of 6 \(int32\), 7 \(int64\); got 1",
    )
    assert_contradiction(
        make_inference("Multinomial", 7, [floats(N, 3)], sample_size=-1),
        "sample_size must not be negative; got -1",
    )
