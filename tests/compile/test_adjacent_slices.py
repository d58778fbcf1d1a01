"""Slices of one buffer that the verifier proves to be disjoint, also where one is read in words and the other written in bytes."""

from __future__ import annotations

import pytest

from sardonyx._src.compile.program import Buffer, TensorView
from sardonyx._src.compile.program.verification.size_facts import SizeFacts
from sardonyx._src.compile.program.verification.verify_in_place import keeps_elements
from sardonyx._src.dtypes import DataType

BUFFER = Buffer("arena", 4 * 20, "image of four pixels of 20 bytes")


def words(first: int, count: int) -> TensorView:
    """Words of four bytes of each pixel."""
    return TensorView(DataType.INT32, (4, count), (5, 1), BUFFER, first)


def bytes_(first: int, count: int) -> TensorView:
    return TensorView(DataType.UINT8, (4, count), (20, 1), BUFFER, first)


@pytest.mark.parametrize(
    ("operand", "output", "is_disjoint"),
    [
        (words(0, 2), bytes_(8, 12), True),
        (words(0, 2), bytes_(7, 12), False),
        (words(3, 2), bytes_(0, 12), True),
        (words(2, 2), bytes_(0, 12), False),
        (words(0, 2), bytes_(8, 13), False),  # reaches into the next pixel
    ],
)
def test_words_and_bytes(operand: TensorView, output: TensorView, is_disjoint: bool) -> None:
    assert keeps_elements(operand, output, SizeFacts(())) is is_disjoint
