import ml_dtypes
import numpy as np
import pytest

from cases import Case, assert_case
from sardonyx._src.ir import Array

YES_NO = np.array([True, False])
DTYPES: list[type[np.generic]] = [np.uint8, np.uint16, np.uint32, np.uint64, np.int8, np.int16, np.int32, np.int64, np.float16,
          np.float32, np.float64, np.complex64, np.complex128]  # fmt: skip


def of(dtype: type[np.generic], *numbers: int) -> Array:
    return np.array(numbers).astype(dtype)


CASES = [
    *(Case("Where", v, [YES_NO, of(t, 1, 2), of(t, 3, 4)], [of(t, 1, 4)], label=np.dtype(t).name)
      for v in (9, 16) for t in DTYPES),
    Case("Where", 16, [YES_NO, of(ml_dtypes.bfloat16, 1, 2), of(ml_dtypes.bfloat16, 3, 4)],
         [of(ml_dtypes.bfloat16, 1, 4)], label="bfloat16"),
    Case("Where", 9, [YES_NO, np.array(["a", "b"], object), np.array("c", object)],
         [np.array(["a", "c"], object)], label="strings"),
    Case("Where", 9, [YES_NO, np.array([False, False]), np.array([True, True])], [np.array([False, True])]),
    Case("Where", 9, [YES_NO.reshape(2, 1), of(np.int64, 1, 2, 3), of(np.int64, 9)],
         [np.array([[1, 2, 3], [9, 9, 9]])], label="broadcast"),
    Case("Where", 16, [np.array(True), np.array(1.5, np.float32), np.array(2, np.float32)],
         [np.array(1.5, np.float32)], label="scalars"),
    Case("Where", 16, [np.zeros((0, 1), np.bool_), np.ones(2), np.ones(1)], [np.zeros((0, 2))], label="empty"),
    Case("Where", 16, [YES_NO, np.array([np.nan, np.nan]), np.array([1.0, 2.0])], [np.array([np.nan, 2])]),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
