import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError, InferenceError
from sardonyx._src.ir import TensorType
from sardonyx._src.ir.dims import Dim, symbol
from sardonyx._src.ops.inference import Inference
from sardonyx._src.ops.math.prelu import infer

F, D, H, I32, U32, I64, U64 = np.float32, np.float64, np.float16, np.int32, np.uint32, np.int64, np.uint64
X = np.array([[[-1, 2], [-3, -4]]], F)  # [N, C, W]
BY_CHANNEL = np.array([2, 10], F)

CASES = [
    *(Case("PRelu", v, [X, np.array([2], F)], [np.array([[[-2, 2], [-6, -8]]], F)], label="one slope")
      for v in (1, 6, 7, 9, 16)),
    *(Case("PRelu", v, [X, np.array(2, F)], [np.array([[[-2, 2], [-6, -8]]], F)], label="scalar slope")
      for v in (1, 6, 7, 9, 16)),
    *(Case("PRelu", v, [X, BY_CHANNEL], [np.array([[[-2, 2], [-30, -40]]], F)], label="by channel") for v in (1, 6)),
    *(Case("PRelu", v, [X, BY_CHANNEL], [np.array([[[-2, 2], [-6, -40]]], F)], label="last axis") for v in (7, 9, 16)),
    *(Case("PRelu", v, [X, X], [np.array([[[1, 2], [9, 16]]], F)], label="full slope") for v in (1, 6, 7, 9, 16)),
    *(Case("PRelu", v, [X, BY_CHANNEL.reshape(2, 1)], [np.array([[[-2, 2], [-30, -40]]], F)], label="[C, 1]")
      for v in (7, 9, 16)),
    *(Case("PRelu", v, [np.array([-3, 3], t), np.array([4, 5], t)], [np.array([-12, 3], t)], label=np.dtype(t).name)
      for v in (9, 16) for t in (I32, I64)),
    *(Case("PRelu", v, [np.array([2, 3], t), np.array([4, 5], t)], [np.array([2, 3], t)], label=np.dtype(t).name)
      for v in (9, 16) for t in (U32, U64)),
    Case("PRelu", 16, [np.array([-1.5, 2], ml_dtypes.bfloat16), np.array([3, 4], ml_dtypes.bfloat16)],
         [np.array([-4.5, 2], ml_dtypes.bfloat16)], label="bfloat16"),
    Case("PRelu", 1, [X, np.array([2], F)], [np.array([[[-2, 2], [-6, -8]]], F)], {"consumed_inputs": [0, 0]}),
    Case("PRelu", 6, [np.array([-1, -2], D), np.array([3, 4], D)], [np.array([-3, -8], D)], label="rank 1"),
    Case("PRelu", 7, [np.array([-1, np.nan], H), np.array(4, H)], [np.array([-4, np.nan], H)], label="float16"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


@pytest.mark.parametrize("version", [1, 6])
def test_a_slope_is_of_channels_in_the_first_versions(version: int) -> None:
    with pytest.raises(
        EvaluationError, match=r"one for each channel \(axis 1\) or X's shape \[1, 2, 2\]; got shape \[3\]"
    ):
        assert_case(Case("PRelu", version, [X, np.ones(3, F)], [X]))


@pytest.mark.parametrize("shape", [(3,), (3, 1, 2), (1, 1, 1, 2)])
def test_x_is_not_broadcast_to_the_slope(shape: tuple[int, ...]) -> None:
    with pytest.raises(EvaluationError, match="broadcast"):
        assert_case(Case("PRelu", 16, [X, np.ones(shape, F)], [X]))


def inferred_type(x: tuple[Dim, ...], slope: tuple[Dim, ...] | None) -> object:
    types = [TensorType(DataType.FLOAT, x), TensorType(DataType.FLOAT, slope)]
    return infer(Inference("PRelu", 16, types, [True, True], {}, 1))


def test_a_slope_gives_a_size_that_x_does_not() -> None:
    n = symbol("N")
    assert inferred_type((n, None, 4), (3, 1)) == TensorType(DataType.FLOAT, (n, 3, 4))
    assert inferred_type((n, 3), (1,)) == TensorType(DataType.FLOAT, (n, 3))
    assert inferred_type((n, 3), None) == TensorType(DataType.FLOAT, (n, 3))


@pytest.mark.parametrize(("x", "slope"), [((2, 1), (3,)), ((3,), (1, 3)), ((4,), (3,))])
def test_inference_refuses_a_slope_that_does_not_broadcast(
    x: tuple[int, ...], slope: tuple[int, ...]
) -> None:
    with pytest.raises(InferenceError):
        inferred_type(x, slope)
