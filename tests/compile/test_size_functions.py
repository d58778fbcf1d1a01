"""Size functions: compiled code and Python compute the same sizes."""

from __future__ import annotations

import random

import pytest

import sardonyx as sx
from models import parse_record
from sardonyx._src.compile.program.encoding.size_functions import evaluate_sizes
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.runs.native_program import NativeProgram

TEXTS = [
    "g (float[N,M] x) => (float[K] y) { a = Softmax(x)  b = Concat<axis = 1>(a, x)  y = Flatten<axis = 0>(b) }",
    "g (float[N,3,H,W] x) => (float[N,3,A,B] y) { a = Sin(x)  y = MaxPool<kernel_shape = [3, 2], strides = [2, 3]>(a) }",
    "g (float[N,3] x, float[3,M] w) => (float[N,M] y) { a = MatMul(x, w)  y = Softmax(a) }",
    """g (float[N,M] x, float[K] w) => (float[A,B] y) <int64[1] rest = {-1}>
      { k = Shape(w)  s = Concat<axis = 0>(k, rest)  r = Reshape(x, s)  y = Sin(r) }""",  # N * M // K
]


def native(text: str) -> NativeProgram:
    session = sx.Session(parse_record(text), engine="native", threads=1)
    assert isinstance(session._runner, NativeEngine)
    return session._runner.native


@pytest.mark.parametrize("text", TEXTS)
def test_compiled_sizes_are_those_of_python(text: str) -> None:
    program, rng = native(text), random.Random(1)
    count = len(program.program.sizes)
    for _ in range(50):
        lengths = [rng.choice([0, 1, 2, 3, 17, 64, 1000]) for _ in range(count)]
        values, arena, scratch, violations = program.size_function(lengths)
        assert (values.tolist(), arena, scratch, violations) == evaluate_sizes(
            program.program, program.executable.encoding, lengths
        )


def test_negative_dims_are_counted_as_violations() -> None:
    program = native(TEXTS[1])
    assert program.size_function([1, 3, 2])[3] == 0
    assert program.size_function([1, 0, 2])[3] > 0
