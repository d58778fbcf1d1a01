"""Sizes worked out by compiled code: the numbers that Python finds, for every length."""

from __future__ import annotations

import random

import pytest

import sardonyx as sx
from models import record
from sardonyx._src.compile.sizes import worked_out
from sardonyx._src.runtime.engine import NativeEngine
from sardonyx._src.runtime.native import NativeProgram

TEXTS = [
    "g (float[N,M] x) => (float[K] y) { a = Softmax(x)  b = Concat<axis = 1>(a, x)  y = Flatten<axis = 0>(b) }",
    "g (float[N,3,H,W] x) => (float[N,3,A,B] y) { a = Sin(x)  y = MaxPool<kernel_shape = [3, 2], strides = [2, 3]>(a) }",
    "g (float[N,3] x, float[3,M] w) => (float[N,M] y) { a = MatMul(x, w)  y = Softmax(a) }",
]


def native(text: str) -> NativeProgram:
    found = sx.Session(record(text), engine="native", threads=1)
    assert isinstance(found._runner, NativeEngine)
    return found._runner.native


@pytest.mark.parametrize("text", TEXTS)
def test_compiled_sizes_are_those_of_python(text: str) -> None:
    inside, chance = native(text), random.Random(1)
    count = len(inside.program.sizes)
    for _ in range(50):
        lengths = [chance.choice([0, 1, 2, 3, 17, 64, 1000]) for _ in range(count)]
        values, arena, scratch, faults = inside.sizes(lengths)
        assert (values.tolist(), arena, scratch, faults) == worked_out(inside.program, inside.layout, lengths)


def test_dims_that_come_out_negative_are_counted() -> None:
    inside = native(TEXTS[1])
    assert inside.sizes([1, 3, 2])[3] == 0
    assert inside.sizes([1, 0, 2])[3] > 0
