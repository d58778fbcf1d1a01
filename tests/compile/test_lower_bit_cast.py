"""BitCast is native for every pair of types of one width, and has the bits of the reference engine."""

from __future__ import annotations

import numpy as np
import pytest

from compile.test_lower_coded_types import assert_native, floats
from sardonyx._src.dtypes import DataType

BIT_TYPES = [t for t in DataType if t not in (DataType.UNDEFINED, DataType.STRING) and t.bits != 6]


@pytest.mark.parametrize("source", BIT_TYPES, ids=lambda dtype: dtype.text)
def test_bit_cast_to_every_type_of_the_same_width(source: DataType) -> None:
    """Of integers of fewer than 8 bits with bits above those of the elements."""
    targets = [to for to in BIT_TYPES if to.bits == source.bits]
    random = np.random.default_rng(0).integers(0, 256, (3, 7, source.numpy.itemsize), np.uint8)
    if source is DataType.BOOL:
        random &= 1
    x = random.view(source.numpy)[..., 0]
    outputs = [f"{to.text}[A,B] y{to:d}, {to.text}[B,A] z{to:d}" for to in targets]
    nodes = [f"y{to:d} = BitCast <to = {to:d}> (x)  z{to:d} = BitCast <to = {to:d}> (t)" for to in targets]
    text = f"g ({source.text}[A,B] x) => ({', '.join(outputs)}) {{ t = Transpose(x) {' '.join(nodes)} }}"
    assert_native(text, {"x": x}, {"x": x[:1, :1]}, {"x": x[:0]})


def test_bits_of_a_computed_half_precision_value() -> None:
    """A promoted value is float32 inside the program."""
    text = """g (float16[N] x) => (uint16[N] y, float16[N] w) {
      d = Add(x, x)  y = BitCast <to = 4> (d)  z = BitCast <to = 10> (y)  w = Mul(z, x) }"""
    assert_native(text, {"x": floats(17, dtype=DataType.FLOAT16)})
