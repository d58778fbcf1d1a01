"""Property: random nodes along axes, between Transposes and Reshapes, compute the same after all passes."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

import sardonyx as sx
from sampling import seed_range
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Model, Value
from sardonyx._src.rewrite.optimize import optimize_with_report

GRAPHS = 25  # a test
STEPS = 12  # a graph
Shape = tuple[int | str, ...]


class ValueGenerator:
    """Builds a random graph: every step applies an operator to one of the latest values."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.data = np.random.default_rng(seed)
        self.builder = sx.ir.GraphBuilder(opset=self.random.choice([13, 17, 20, 24]))
        self.count = 0
        self.values: list[tuple[Value, Shape]] = []
        for name, shape in (("x", ("N", 2, 6)), ("z", (1, 4, 3)), ("u", (2, 1, 3, 4))):
            self.values.append((self.builder.input(name, DataType.FLOAT, list(shape)), shape))

    def model(self) -> Model:
        steps: list[Callable[[Value, Shape], None]] = [
            self.transpose, self.transpose, self.transpose, self.add_reshape, self.add_reshape, self.unary, self.add_scaling,
            self.add_reduction, self.softmax, self.add_concat, self.add_split, self.add_slice, self.add_gather, self.add_pad,
            self.add_clip, self.product, self.add_sum,
        ]  # fmt: skip
        for _ in range(STEPS):
            self.random.choice(steps)(*self.random.choice(self.values[-3:]))
        unread = [value for value, _ in self.values[3:] if not value.uses]
        for i, value in enumerate(unread):
            self.builder.output(value, f"y{i}")
        return self.builder.model()

    def weight(self, values: object) -> Value:
        self.count += 1
        return self.builder.constant(f"c{self.count}", values)

    def put(self, value: Value, shape: Shape) -> None:
        self.values.append((value, shape))

    def axis(self, shape: Shape) -> int:
        return self.random.randrange(len(shape))

    def known(self, shape: Shape) -> list[int]:
        """The axes whose length is a number, above 1."""
        return [axis for axis, size in enumerate(shape) if isinstance(size, int) and size > 1]

    def transpose(self, value: Value, shape: Shape) -> None:
        perm = self.random.sample(range(len(shape)), len(shape))
        self.put(self.builder.Transpose(value, perm=perm), tuple(shape[axis] for axis in perm))

    def add_reshape(self, value: Value, shape: Shape) -> None:
        """Splits an axis, merges two, or inserts or removes an axis of length 1."""
        axis = self.axis(shape)
        size, ways = shape[axis], ["one"] if len(shape) < 5 else []
        if size == 1 and len(shape) > 1:
            self.put(self.builder.Squeeze(value, self.weight([axis])), (*shape[:axis], *shape[axis + 1 :]))
        elif isinstance(size, int) and size % 2 == 0 and len(shape) < 5:
            self.reshape(value, (*shape[:axis], 2, size // 2, *shape[axis + 1 :]))
        elif axis and isinstance(size, int) and isinstance(before := shape[axis - 1], int):
            self.reshape(value, (*shape[: axis - 1], before * size, *shape[axis + 1 :]))
        elif ways:
            self.put(self.builder.Unsqueeze(value, self.weight([axis])), (*shape[:axis], 1, *shape[axis:]))

    def reshape(self, value: Value, shape: Shape) -> None:
        sizes = [-1 if isinstance(size, str) else size for size in shape]
        self.put(self.builder.Reshape(value, self.weight(sizes)), shape)

    def unary(self, value: Value, shape: Shape) -> None:
        self.put(self.builder.op(self.random.choice(["Neg", "Relu", "Sigmoid", "Tanh"]), value), shape)

    def add_scaling(self, value: Value, shape: Shape) -> None:
        kept = [size if isinstance(size, int) and self.random.random() < 0.5 else 1 for size in shape]
        kind = self.random.choice([[], kept, kept[1:]])
        pair = [value, self.weight(self.data.integers(-1, 3, kind).astype(np.float32))]
        self.random.shuffle(pair)
        self.put(self.builder.op(self.random.choice(["Add", "Mul", "Sub"]), *pair), shape)

    def add_reduction(self, value: Value, shape: Shape) -> None:
        axis, keep = self.axis(shape), self.random.randrange(2)
        if len(shape) == 1 and not keep:
            return
        result = self.builder.ReduceSum(value, self.weight([axis]), keepdims=keep)
        self.put(result, (*shape[:axis], *([1] * keep), *shape[axis + 1 :]))

    def softmax(self, value: Value, shape: Shape) -> None:
        self.put(self.builder.Softmax(value, axis=self.axis(shape)), shape)

    def add_concat(self, value: Value, shape: Shape) -> None:
        for axis in self.known(shape)[:1]:
            size = shape[axis]
            assert isinstance(size, int)
            result = self.builder.Concat(value, self.builder.Neg(value), axis=axis)
            self.put(result, (*shape[:axis], 2 * size, *shape[axis + 1 :]))

    def add_split(self, value: Value, shape: Shape) -> None:
        for axis in self.known(shape)[:1]:
            size = shape[axis]
            assert isinstance(size, int)
            cut = self.random.randrange(1, size)
            parts = self.builder.node("Split", [value, self.weight([cut, size - cut])], 2, axis=axis)
            for part, length in zip(parts.outputs, (cut, size - cut), strict=True):
                self.put(part, (*shape[:axis], length, *shape[axis + 1 :]))

    def add_slice(self, value: Value, shape: Shape) -> None:
        for axis in self.known(shape)[-1:]:
            size = shape[axis]
            assert isinstance(size, int)
            start, step = self.random.randrange(size - 1), self.random.choice([1, -1])
            ends = (start, size) if step > 0 else (size - 1, start - 1 if start else -size - 1)
            numbers = [self.weight([n]) for n in (*ends, axis - len(shape), step)]
            self.put(self.builder.Slice(value, *numbers), (*shape[:axis], size - start, *shape[axis + 1 :]))

    def add_gather(self, value: Value, shape: Shape) -> None:
        for axis in self.known(shape)[:1]:
            if len(shape) > 1 and self.random.random() < 0.5:
                result = self.builder.Gather(value, self.weight(np.array(0)), axis=axis)
                self.put(result, (*shape[:axis], *shape[axis + 1 :]))
            else:
                result = self.builder.Gather(value, self.weight([1, 0, 1]), axis=axis)
                self.put(result, (*shape[:axis], 3, *shape[axis + 1 :]))

    def add_pad(self, value: Value, shape: Shape) -> None:
        axis = self.axis(shape)
        size = shape[axis]
        if isinstance(size, int):
            pads = [0] * (2 * len(shape))
            pads[axis], pads[axis + len(shape)] = 1, 2
            self.put(
                self.builder.Pad(value, self.weight(pads)), (*shape[:axis], size + 3, *shape[axis + 1 :])
            )

    def add_clip(self, value: Value, shape: Shape) -> None:
        low, high = (self.weight(np.array(n, np.float32)) for n in (-0.5, 0.75))
        is_relu, is_min = self.random.randrange(2), self.random.randrange(2)
        once = self.builder.Relu(value) if is_relu else self.builder.Max(value, low)
        self.put(self.builder.Min(once, high) if is_min else self.builder.Clip(once, low, high), shape)

    def product(self, value: Value, shape: Shape) -> None:
        size = shape[-1]
        if isinstance(size, int) and len(shape) > 1:
            matrix = self.weight(self.data.standard_normal((size, 2)).astype(np.float32))
            bias = self.weight(self.data.standard_normal(2).astype(np.float32))
            self.put(self.builder.Add(self.builder.MatMul(value, matrix), bias), (*shape[:-1], 2))

    def add_sum(self, value: Value, shape: Shape) -> None:
        others = [v for v, s in self.values if s == shape]
        self.put(self.builder.Add(value, self.random.choice(others)), shape)


@pytest.mark.parametrize("part", seed_range(0, 4))
def test_work_along_axes_computes_the_same(part: int) -> None:
    for seed in range(part * GRAPHS, (part + 1) * GRAPHS):
        model = ValueGenerator(seed).model()
        optimization = optimize_with_report(model, verify=True, debug=True)
        result, report = optimization.model, optimization.report
        assert report.proved, f"seed {seed}: {report.unproved}"
        assert not report.stopped, f"seed {seed}: {report.stopped}"
        assert report.nodes_after <= report.nodes_before, f"seed {seed}"
        again = optimize_with_report(result).report
        assert not again.edits, f"seed {seed}: a second run must change nothing; got {again.edits[0]}"
