import numpy as np
import pytest

from cases import Case, assert_case
from ops.control.node_inference import floats, infer_node
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, TensorType

F, U8 = np.float32, np.uint8


def case(x: Array, y: list[int], scale: float, zero_point: int, label: str) -> Case:
    expected = [np.array(y, U8).reshape(x.shape), np.array(scale, F), np.array(zero_point, U8)]
    return Case("DynamicQuantizeLinear", 11, [x], expected, label=label)


CASES = [
    case(np.array([-1, 0, 1, 254], F), [0, 1, 2, 255], 1, 1, "range -1 to 254"),
    case(np.array([[255, 51]], F), [255, 51], 1, 0, "extended down to 0"),
    case(np.array([-510, -255, -2], F), [0, 127, 254], 2, 255, "extended up to 0; -127.5 rounds to -128"),
    case(np.array([-0.5, 254.5], F), [0, 254], 1, 0, "a zero point of 0.5 rounds to even"),
    case(np.zeros(2, F), [0, 0], 1, 0, "an empty range"),
    case(np.array([0.0, -0.0], F), [0, 0], 1, 0, "an empty range of signed zeros"),
    case(np.zeros((0, 2), F), [], 1, 0, "no elements"),
    case(np.array(255, F), [255], 1, 0, "scalar"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)


def test_types_of_results() -> None:
    y, scale, zero_point = infer_node("DynamicQuantizeLinear", 11, [floats("N", 2)], outputs=3)
    assert y == TensorType(DataType.UINT8, floats("N", 2).shape)
    assert scale == floats()
    assert zero_point == TensorType(DataType.UINT8, ())
