import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from ops.random.draws import assert_repeatable, draw
from ops.tensor.operator_facets import (
    FLOAT,
    M,
    N,
    assert_contradiction,
    assert_refused,
    assert_too_large,
    f32,
    floats,
    infer_types,
    ints,
    make_inference,
)
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, TensorType

FLOATS = [(1, np.float32), (10, np.float16), (11, np.float64)]
BFLOAT16 = (16, ml_dtypes.bfloat16)
CASES = [  # what is drawn is checked below; its type and shape by `assert_case`
    *(Case("RandomNormal", version, [], [...], {"shape": [2, 3], "seed": 1.0}) for version in (1, 22)),
    *(Case("RandomNormalLike", version, [f32([1, 2])], [...]) for version in (1, 22)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [1, 22])
def test_shape_and_type_are_attributes(version: int) -> None:
    for number, dtype in [*FLOATS, BFLOAT16][: 4 if version == 22 else 3]:
        x = draw("RandomNormal", version, [], {"shape": [2, 3], "dtype": number})
        assert (x.shape, x.dtype) == ((2, 3), np.dtype(dtype))
    assert draw("RandomNormal", version, [], {"shape": [0, 3]}).dtype == np.float32
    assert draw("RandomNormal", version, [], {"shape": [4]}).std() > 0


@pytest.mark.parametrize("version", [1, 22])
def test_shape_and_type_are_those_of_an_input(version: int) -> None:
    x = np.zeros((2, 3), np.float64)
    assert draw("RandomNormalLike", version, [x], {}).dtype == np.float64
    assert draw("RandomNormalLike", version, [x], {"dtype": 1}).dtype == np.float32
    assert draw("RandomNormalLike", version, [np.array(["a"], object)], {"dtype": 10}).dtype == np.float16
    assert draw("RandomNormalLike", version, [f32(0)], {}).shape == ()
    assert draw("RandomNormalLike", version, [x], {}).shape == (2, 3)


@pytest.mark.parametrize(
    ("op", "inputs"), [("RandomNormal", []), ("RandomNormalLike", [np.zeros(20000, np.float32)])]
)
def test_numbers_are_normally_distributed(op: str, inputs: list[Array]) -> None:
    shape: dict[str, object] = {} if inputs else {"shape": [20000]}
    x = draw(op, 22, inputs, {**shape, "mean": 3.0, "scale": 2.0, "seed": 1.0})
    standard = (x - 3) / 2
    assert abs(standard.mean()) < 0.03
    assert abs(standard.std() - 1) < 0.03
    inside = [np.mean(np.abs(standard) < k) for k in (1, 2, 3)]
    assert inside == pytest.approx([0.6827, 0.9545, 0.9973], abs=0.012)


def test_seeds_repeat_the_numbers() -> None:
    assert_repeatable("RandomNormal", 22, [], {"shape": [4]})
    assert_repeatable("RandomNormalLike", 1, [f32([0, 0])], {})


def test_other_types_and_shapes_are_refused() -> None:
    x = np.zeros(3, np.int32)
    assert_refused(
        Case("RandomNormal", 22, [], [x], {"shape": [3], "dtype": 7}),
        r"dtype must be one of 1 \(float\), 10 \(float16\), 11 \(double\), 16 \(bfloat16\)",
    )
    assert_refused(
        Case("RandomNormal", 1, [], [x], {"shape": [3], "dtype": 16}),
        r"dtype must be one of 1 \(float\), 10 \(float16\), 11 \(double\); got 16",
    )
    assert_refused(
        Case("RandomNormalLike", 22, [x], [x]),
        r"1 \(float\), 10 \(float16\), 11 \(double\), 16 \(bfloat16\); got int32; set dtype",
    )
    assert_too_large(Case("RandomNormal", 22, [], [x], {"shape": [1 << 20, 1 << 20]}))


def test_types_are_known() -> None:
    assert infer_types(make_inference("RandomNormal", 22, [], shape=(2, 3), dtype=16)) == [
        TensorType(DataType.BFLOAT16, (2, 3))
    ]
    assert infer_types(make_inference("RandomNormalLike", 22, [floats(N, M)])) == [floats(N, M)]
    assert infer_types(make_inference("RandomNormalLike", 22, [ints(N)], dtype=1)) == [floats(N)]
    assert infer_types(make_inference("RandomNormalLike", 1, [None], dtype=1)) == [TensorType(FLOAT)]
    assert infer_types(make_inference("RandomNormalLike", 1, [None])) == [None]
    assert_contradiction(
        make_inference("RandomNormalLike", 1, [ints(N)]),
        r"the type of the input must be one of 1 \(float\), 10 \(float16\), 11 \(double\)",
    )
    assert_contradiction(
        make_inference("RandomNormal", 1, [], shape=(2,), dtype=3),
        r"dtype must be one of 1 \(float\), 10 \(float16\), 11 \(double\); got 3",
    )
    assert_contradiction(make_inference("RandomNormal", 1, [], shape=(-2,)), "negative")
