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
    *(Case("RandomUniform", version, [], [...], {"shape": [2, 3], "seed": 1.0}) for version in (1, 22)),
    *(Case("RandomUniformLike", version, [f32([1, 2])], [...]) for version in (1, 22)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [1, 22])
def test_shape_and_type_are_attributes(version: int) -> None:
    for number, dtype in [*FLOATS, BFLOAT16][: 4 if version == 22 else 3]:
        x = draw("RandomUniform", version, [], {"shape": [2, 3], "dtype": number})
        assert (x.shape, x.dtype) == ((2, 3), np.dtype(dtype))
    assert draw("RandomUniform", version, [], {"shape": [0, 3]}).dtype == np.float32


@pytest.mark.parametrize("version", [1, 22])
def test_shape_and_type_are_those_of_an_input(version: int) -> None:
    x = np.zeros((2, 3), np.float16)
    assert draw("RandomUniformLike", version, [x], {}).dtype == np.float16
    assert draw("RandomUniformLike", version, [x], {}).shape == (2, 3)
    assert draw("RandomUniformLike", version, [x], {"dtype": 11}).dtype == np.float64
    assert draw("RandomUniformLike", version, [np.zeros(2, bool)], {"dtype": 1}).dtype == np.float32


@pytest.mark.parametrize(
    ("op", "inputs"), [("RandomUniform", []), ("RandomUniformLike", [np.zeros(20000, np.float32)])]
)
def test_numbers_are_even_between_the_ends(op: str, inputs: list[Array]) -> None:
    shape: dict[str, object] = {} if inputs else {"shape": [20000]}
    x = draw(op, 22, inputs, {**shape, "low": -2.0, "high": 6.0, "seed": 1.0})
    assert x.min() >= -2
    assert x.max() <= 6
    counts, _ = np.histogram(x, 4, (-2, 6))
    assert counts / 20000 == pytest.approx([0.25] * 4, abs=0.01)


def test_ends_are_0_and_1_by_default() -> None:
    x = draw("RandomUniform", 1, [], {"shape": [1000], "seed": 2.0})
    assert 0 <= x.min() < 0.02
    assert 0.98 < x.max() <= 1


def test_seeds_repeat_the_numbers() -> None:
    assert_repeatable("RandomUniform", 22, [], {"shape": [4]})
    assert_repeatable("RandomUniformLike", 1, [f32([0, 0])], {})


def test_other_types_and_shapes_are_refused() -> None:
    x = np.zeros(3, np.int32)
    assert_refused(
        Case("RandomUniform", 22, [], [x], {"shape": [3], "dtype": 7}),
        r"dtype must be one of 1 \(float\), 10 \(float16\), 11 \(double\), 16 \(bfloat16\)",
    )
    assert_refused(
        Case("RandomUniform", 1, [], [x], {"shape": [3], "dtype": 16}),
        r"dtype must be one of 1 \(float\), 10 \(float16\), 11 \(double\); got 16",
    )
    assert_refused(
        Case("RandomUniformLike", 22, [x], [x]),
        r"1 \(float\), 10 \(float16\), 11 \(double\), 16 \(bfloat16\); got int32; set dtype",
    )
    assert_too_large(Case("RandomUniform", 22, [], [x], {"shape": [1 << 20, 1 << 20]}))


def test_types_are_known() -> None:
    assert infer_types(make_inference("RandomUniform", 22, [], shape=(2, 3), dtype=16)) == [
        TensorType(DataType.BFLOAT16, (2, 3))
    ]
    assert infer_types(make_inference("RandomUniformLike", 22, [floats(N, M)])) == [floats(N, M)]
    assert infer_types(make_inference("RandomUniformLike", 22, [ints(N)], dtype=1)) == [floats(N)]
    assert_contradiction(
        make_inference("RandomUniformLike", 1, [ints(N)]),
        r"the type of the input must be one of 1 \(float\), 10 \(float16\), 11 \(double\)",
    )
