import numpy as np
import pytest

from cases import Case, assert_case

F, ML = np.float32, "ai.onnx.ml"

CASES = [
    Case("Binarizer", 1, [np.array([[-1, 0], [0.5, 2]], F)], [np.array([[0, 0], [1, 1]], F)], domain=ML),
    Case("Binarizer", 1, [np.array([1, 1.5, 2], F)], [np.array([0, 0, 1], F)], {"threshold": 1.5}, domain=ML),
    Case("Binarizer", 1, [np.array([np.nan, np.inf, -np.inf], F)], [np.array([0, 1, 0], F)], domain=ML),
    Case("Binarizer", 1, [np.array([1, 2, -3])], [np.array([0, 1, 0])], {"threshold": 1.5}, domain=ML),
    Case("Binarizer", 1, [np.array([1, 2], np.int32)], [np.array([1, 1], np.int32)], domain=ML),
    Case("Binarizer", 1, [np.array(0.1)], [np.array(1.0)], domain=ML, label="float64 scalar"),
    Case("Binarizer", 1, [np.zeros((0, 2), F)], [np.zeros((0, 2), F)], domain=ML, label="empty"),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
