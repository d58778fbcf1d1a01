from typing import Any

import numpy as np
import pytest

from cases import Case, assert_case

Integer = type[np.signedinteger[Any]] | type[np.unsignedinteger[Any]]
LEFT, RIGHT = {"direction": "LEFT"}, {"direction": "RIGHT"}
UNSIGNED: list[Integer] = [np.uint8, np.uint16, np.uint32, np.uint64]
SIGNED: list[Integer] = [np.int8, np.int16, np.int32, np.int64]

CASES = [
    *(Case("BitShift", v, [np.array([16, 4, 1], t), np.array([1, 2, 3], t)], [np.array([8, 1, 0], t)], RIGHT)
      for v in (11, 28) for t in UNSIGNED),
    *(Case("BitShift", v, [np.array([16, 4, 1], t), np.array([1, 2, 3], t)], [np.array([32, 16, 8], t)], LEFT)
      for v in (11, 28) for t in UNSIGNED),
    *(Case("BitShift", 28, [np.array([-16, -1, 5, -5], t), np.array([1, 3, 1, 1], t)],
           [np.array([-8, -1, 2, -3], t)], RIGHT, "keeps the sign") for t in SIGNED),
    *(Case("BitShift", 28, [np.array([-3, 3, 1], t), np.array([1, 1, np.iinfo(t).bits - 1], t)],
           [np.array([-6, 6, np.iinfo(t).min], t)], LEFT, "into the sign") for t in SIGNED),
    *(Case("BitShift", 28, [np.array([-5, 5, -5, 5], t), np.array([-1, -1, np.iinfo(t).bits, 100], t)],
           [np.array([-1, 0, -1, 0], t)], RIGHT, "all bits out") for t in SIGNED),
    *(Case("BitShift", 28, [np.array([-5, 5, -5, 5], t), np.array([-1, -1, np.iinfo(t).bits, 100], t)],
           [np.array([0, 0, 0, 0], t)], LEFT, "all bits out") for t in SIGNED),
    *(Case("BitShift", 28, [np.array([255, 255], t), np.array([np.iinfo(t).bits, 200], t)],
           [np.array([0, 0], t)], d, "all bits out") for t in UNSIGNED for d in (LEFT, RIGHT)),
    Case("BitShift", 11, [np.array([200], np.uint8), np.array([1], np.uint8)], [np.array([144], np.uint8)], LEFT),
    Case("BitShift", 11, [np.array([[8], [16]], np.uint8), np.array([1, 2], np.uint8)],
         [np.array([[4, 2], [8, 4]], np.uint8)], RIGHT, "broadcast"),
    Case("BitShift", 28, [np.array(1, np.int32), np.array(4, np.int32)], [np.array(16, np.int32)], LEFT, "scalars"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case) -> None:
    assert_case(case)
