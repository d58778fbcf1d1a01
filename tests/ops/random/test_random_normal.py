import ml_dtypes
import numpy as np
import pytest

from cases import Case, check
from ops.random.draws import assert_repeatable, drawn
from ops.tensor.questions import FLOAT, M, N, asked, contradicts, f32, floats, ints, refused, too_large, types
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType

FLOATS = [(1, np.float32), (10, np.float16), (11, np.float64)]
BFLOAT16 = (16, ml_dtypes.bfloat16)
CASES = [  # what is drawn is checked below; its type and shape by `check`
    *(Case("RandomNormal", version, [], [...], {"shape": [2, 3], "seed": 1.0}) for version in (1, 22)),
    *(Case("RandomNormalLike", version, [f32([1, 2])], [...]) for version in (1, 22)),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("version", [1, 22])
def test_shape_and_type_are_attributes(version: int) -> None:
    for number, dtype in [*FLOATS, BFLOAT16][: 4 if version == 22 else 3]:
        x = drawn("RandomNormal", version, [], {"shape": [2, 3], "dtype": number})
        assert (x.shape, x.dtype) == ((2, 3), np.dtype(dtype))
    assert drawn("RandomNormal", version, [], {"shape": [0, 3]}).dtype == np.float32
    assert drawn("RandomNormal", version, [], {"shape": [4]}).std() > 0


@pytest.mark.parametrize("version", [1, 22])
def test_shape_and_type_are_those_of_an_input(version: int) -> None:
    x = np.zeros((2, 3), np.float64)
    assert drawn("RandomNormalLike", version, [x], {}).dtype == np.float64
    assert drawn("RandomNormalLike", version, [x], {"dtype": 1}).dtype == np.float32
    assert drawn("RandomNormalLike", version, [np.array(["a"], object)], {"dtype": 10}).dtype == np.float16
    assert drawn("RandomNormalLike", version, [f32(0)], {}).shape == ()
    assert drawn("RandomNormalLike", version, [x], {}).shape == (2, 3)


@pytest.mark.parametrize(
    ("op", "inputs"), [("RandomNormal", []), ("RandomNormalLike", [np.zeros(20000, np.float32)])]
)
def test_numbers_are_normally_distributed(op: str, inputs: list[Array]) -> None:
    shape: dict[str, object] = {} if inputs else {"shape": [20000]}
    x = drawn(op, 22, inputs, {**shape, "mean": 3.0, "scale": 2.0, "seed": 1.0})
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
    refused(
        Case("RandomNormal", 22, [], [x], {"shape": [3], "dtype": 7}), r"dtype is 7, where one of 1 \(float\)"
    )
    refused(Case("RandomNormal", 1, [], [x], {"shape": [3], "dtype": 16}), "dtype is 16")
    refused(Case("RandomNormal", 22, [], [x], {"shape": [3, -1]}), "no size may be negative")
    refused(Case("RandomNormalLike", 22, [x], [x]), "the input is of int32: dtype is wanted")
    too_large(Case("RandomNormal", 22, [], [x], {"shape": [1 << 20, 1 << 20]}))


def test_types_are_told() -> None:
    assert types(asked("RandomNormal", 22, [], shape=(2, 3), dtype=16)) == [
        TensorType(DataType.BFLOAT16, (2, 3))
    ]
    assert types(asked("RandomNormalLike", 22, [floats(N, M)])) == [floats(N, M)]
    assert types(asked("RandomNormalLike", 22, [ints(N)], dtype=1)) == [floats(N)]
    assert types(asked("RandomNormalLike", 1, [None], dtype=1)) == [TensorType(FLOAT)]
    assert types(asked("RandomNormalLike", 1, [None])) == [None]
    contradicts(asked("RandomNormalLike", 1, [ints(N)]), "dtype is wanted")
    contradicts(asked("RandomNormal", 1, [], shape=(2,), dtype=3), "dtype is 3")
    contradicts(asked("RandomNormal", 1, [], shape=(-2,)), "negative")
