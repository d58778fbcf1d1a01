"""A law: work along axes, between Transposes and Reshapes at random, computes the same after all passes."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

import sardonyx as sx
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.graph import Model, Value
from sardonyx._src.rewrite.optimize import optimize

GRAPHS = 25  # a test
STEPS = 12  # a graph
Shape = tuple[int | str, ...]


class Maker:
    """Puts a graph together of a few values, one of which every step goes on with."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.data = np.random.default_rng(seed)
        self.builder = sx.Builder(opset=self.random.choice([13, 17, 20, 24]))
        self.count = 0
        self.values: list[tuple[Value, Shape]] = []
        for name, shape in (("x", ("N", 2, 6)), ("z", (1, 4, 3)), ("u", (2, 1, 3, 4))):
            self.values.append((self.builder.input(name, DataType.FLOAT, list(shape)), shape))

    def model(self) -> Model:
        steps: list[Callable[[Value, Shape], None]] = [
            self.transpose, self.transpose, self.transpose, self.shaped, self.shaped, self.unary, self.scaled,
            self.reduced, self.softmax, self.joined, self.split, self.sliced, self.gathered, self.padded,
            self.bounded, self.product, self.both,
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

    def shaped(self, value: Value, shape: Shape) -> None:
        """Takes an axis apart, puts two together, or puts one of length 1 in or out."""
        at = self.axis(shape)
        size, ways = shape[at], ["one"] if len(shape) < 5 else []
        if size == 1 and len(shape) > 1:
            self.put(self.builder.Squeeze(value, self.weight([at])), (*shape[:at], *shape[at + 1 :]))
        elif isinstance(size, int) and size % 2 == 0 and len(shape) < 5:
            self.reshape(value, (*shape[:at], 2, size // 2, *shape[at + 1 :]))
        elif at and isinstance(size, int) and isinstance(before := shape[at - 1], int):
            self.reshape(value, (*shape[: at - 1], before * size, *shape[at + 1 :]))
        elif ways:
            self.put(self.builder.Unsqueeze(value, self.weight([at])), (*shape[:at], 1, *shape[at:]))

    def reshape(self, value: Value, shape: Shape) -> None:
        sizes = [-1 if isinstance(size, str) else size for size in shape]
        self.put(self.builder.Reshape(value, self.weight(sizes)), shape)

    def unary(self, value: Value, shape: Shape) -> None:
        self.put(self.builder.op(self.random.choice(["Neg", "Relu", "Sigmoid", "Tanh"]), value), shape)

    def scaled(self, value: Value, shape: Shape) -> None:
        kept = [size if isinstance(size, int) and self.random.random() < 0.5 else 1 for size in shape]
        kind = self.random.choice([[], kept, kept[1:]])
        pair = [value, self.weight(self.data.integers(-1, 3, kind).astype(np.float32))]
        self.random.shuffle(pair)
        self.put(self.builder.op(self.random.choice(["Add", "Mul", "Sub"]), *pair), shape)

    def reduced(self, value: Value, shape: Shape) -> None:
        at, keep = self.axis(shape), self.random.randrange(2)
        if len(shape) == 1 and not keep:
            return
        made = self.builder.ReduceSum(value, self.weight([at]), keepdims=keep)
        self.put(made, (*shape[:at], *([1] * keep), *shape[at + 1 :]))

    def softmax(self, value: Value, shape: Shape) -> None:
        self.put(self.builder.Softmax(value, axis=self.axis(shape)), shape)

    def joined(self, value: Value, shape: Shape) -> None:
        for at in self.known(shape)[:1]:
            size = shape[at]
            assert isinstance(size, int)
            made = self.builder.Concat(value, self.builder.Neg(value), axis=at)
            self.put(made, (*shape[:at], 2 * size, *shape[at + 1 :]))

    def split(self, value: Value, shape: Shape) -> None:
        for at in self.known(shape)[:1]:
            size = shape[at]
            assert isinstance(size, int)
            cut = self.random.randrange(1, size)
            parts = self.builder.node("Split", [value, self.weight([cut, size - cut])], 2, axis=at)
            for part, length in zip(parts.outputs, (cut, size - cut), strict=True):
                self.put(part, (*shape[:at], length, *shape[at + 1 :]))

    def sliced(self, value: Value, shape: Shape) -> None:
        for at in self.known(shape)[-1:]:
            size = shape[at]
            assert isinstance(size, int)
            start, step = self.random.randrange(size - 1), self.random.choice([1, -1])
            ends = (start, size) if step > 0 else (size - 1, start - 1 if start else -size - 1)
            numbers = [self.weight([n]) for n in (*ends, at - len(shape), step)]
            self.put(self.builder.Slice(value, *numbers), (*shape[:at], size - start, *shape[at + 1 :]))

    def gathered(self, value: Value, shape: Shape) -> None:
        for at in self.known(shape)[:1]:
            if len(shape) > 1 and self.random.random() < 0.5:
                made = self.builder.Gather(value, self.weight(np.array(0)), axis=at)
                self.put(made, (*shape[:at], *shape[at + 1 :]))
            else:
                made = self.builder.Gather(value, self.weight([1, 0, 1]), axis=at)
                self.put(made, (*shape[:at], 3, *shape[at + 1 :]))

    def padded(self, value: Value, shape: Shape) -> None:
        at = self.axis(shape)
        size = shape[at]
        if isinstance(size, int):
            pads = [0] * (2 * len(shape))
            pads[at], pads[at + len(shape)] = 1, 2
            self.put(self.builder.Pad(value, self.weight(pads)), (*shape[:at], size + 3, *shape[at + 1 :]))

    def bounded(self, value: Value, shape: Shape) -> None:
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

    def both(self, value: Value, shape: Shape) -> None:
        others = [v for v, s in self.values if s == shape]
        self.put(self.builder.Add(value, self.random.choice(others)), shape)


@pytest.mark.parametrize("part", range(4))
def test_work_along_axes_computes_the_same(part: int) -> None:
    for seed in range(part * GRAPHS, (part + 1) * GRAPHS):
        model = Maker(seed).model()
        report = sx.OptimizationReport()
        result = optimize(model, verify=True, debug=True, report=report)
        assert report.proved, f"seed {seed}: {report.unproved}"
        assert not report.stopped, f"seed {seed}: {report.stopped}"
        assert report.nodes_after <= report.nodes_before, f"seed {seed}"
        again = sx.OptimizationReport()
        optimize(result, report=again)
        assert not again.edits, f"seed {seed}: a second run goes on with {again.edits[0]}"
