"""Property: random graphs compute the same after all passes."""

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

GRAPHS = 30  # a test
STEPS = 14  # nodes and their constants, a graph


class ValueGenerator:
    """Builds a random graph whose values are float [N, a, b] with known a and b."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.data = np.random.default_rng(seed)
        self.builder = sx.ir.GraphBuilder(opset=self.random.choice([13, 17, 20, 24]))
        self.count = 0
        self.values: list[tuple[Value, tuple[int, int]]] = []
        for name, shape in (("x", (2, 6)), ("z", (2, 6)), ("u", (3, 4))):
            self.values.append((self.builder.input(name, DataType.FLOAT, ["N", *shape]), shape))

    def model(self) -> Model:
        steps: list[Callable[[], None]] = [
            self.unary, self.unary, self.binary, self.constant, self.transposes, self.reshape, self.squeezed,
            self.slices, self.identity, self.sizes, self.casts, self.product, self.twice, self.activation,
        ]  # fmt: skip
        for _ in range(STEPS):
            self.random.choice(steps)()
        chosen = self.random.sample(self.values[3:], min(3, len(self.values) - 3))
        for i, (value, _) in enumerate(chosen):
            self.builder.output(value, f"y{i}")
        return self.builder.model()

    def pick(self) -> tuple[Value, tuple[int, int]]:
        return self.random.choice(self.values)

    def put(self, value: Value, shape: tuple[int, int]) -> None:
        self.values.append((value, shape))

    def weight(self, values: object) -> Value:
        self.count += 1
        return self.builder.constant(f"c{self.count}", values)

    def unary(self) -> None:
        value, shape = self.pick()
        self.put(self.builder.op(self.random.choice(["Neg", "Relu", "Sigmoid", "Tanh", "Abs"]), value), shape)

    def binary(self) -> None:
        value, shape = self.pick()
        other = self.random.choice([v for v, s in self.values if s == shape])
        self.put(self.builder.op(self.random.choice(["Add", "Mul", "Sub", "Max"]), value, other), shape)

    def constant(self) -> None:
        value, shape = self.pick()
        kind = self.random.choice([(), (1,), (shape[1],), (shape[0], 1), (1, *shape)])
        numbers = self.data.integers(-1, 3, kind).astype(np.float32)
        pair = [value, self.weight(numbers)]
        self.random.shuffle(pair)
        self.put(self.builder.op(self.random.choice(["Add", "Mul", "Sub"]), *pair), shape)

    def transposes(self) -> None:
        value, (a, b) = self.pick()
        once = self.builder.Transpose(value, perm=[0, 2, 1])
        work = self.builder.Relu(once) if self.random.random() < 0.5 else once
        if self.random.random() < 0.5:
            self.put(self.builder.Transpose(work, perm=[0, 2, 1]), (a, b))
        else:
            self.put(work, (b, a))

    def reshape(self) -> None:
        value, (a, b) = self.pick()
        target = self.random.choice([(c, a * b // c) for c in range(1, a * b + 1) if a * b % c == 0])
        first = self.builder.Reshape(value, self.weight([0, -1]))
        self.put(self.builder.Reshape(first, self.weight([0, *target])), target)

    def squeezed(self) -> None:
        value, shape = self.pick()
        axis = self.random.choice([1, 2, 3])
        self.put(
            self.builder.Squeeze(self.builder.Unsqueeze(value, self.weight([axis])), self.weight([axis])),
            shape,
        )

    def slices(self) -> None:
        value, (a, b) = self.pick()
        if b < 2:
            return
        cut = self.random.randrange(1, b)
        parts = [
            self.builder.Slice(value, self.weight([i]), self.weight([j]), self.weight([2]))
            for i, j in ((0, cut), (cut, b))
        ]
        self.put(self.builder.Concat(*(self.builder.Neg(p) for p in parts), axis=2), (a, b))

    def identity(self) -> None:
        value, shape = self.pick()
        self.put(self.builder.Identity(value), shape)

    def sizes(self) -> None:
        value, (a, b) = self.pick()
        size = self.builder.Gather(self.builder.Shape(value), self.weight([0]), axis=0)
        shape = self.builder.Concat(size, self.weight([b, a]), axis=0)
        self.put(self.builder.Reshape(value, shape), (b, a))

    def casts(self) -> None:
        value, shape = self.pick()
        self.put(self.builder.Cast(self.builder.Cast(value, to=11), to=1), shape)

    def product(self) -> None:
        value, (a, b) = self.pick()
        wide = self.random.randrange(1, 4)
        product = self.builder.MatMul(
            value, self.weight(self.data.standard_normal((b, wide)).astype(np.float32))
        )
        self.put(
            self.builder.Add(product, self.weight(self.data.standard_normal(wide).astype(np.float32))),
            (a, wide),
        )

    def twice(self) -> None:
        value, shape = self.pick()
        self.put(self.builder.Add(self.builder.Tanh(value), self.builder.Tanh(value)), shape)

    def activation(self) -> None:
        value, shape = self.pick()
        self.put(self.builder.Mul(value, self.builder.Sigmoid(value)), shape)


@pytest.mark.parametrize("part", seed_range(0, 5))
def test_a_random_graph_computes_the_same(part: int) -> None:
    for seed in range(part * GRAPHS, (part + 1) * GRAPHS):
        model = ValueGenerator(seed).model()
        optimization = optimize_with_report(model, verify=True, debug=True)
        result, report = optimization.model, optimization.report
        assert report.proved == 4, f"seed {seed}: {report.unproved}"
        assert not report.stopped, f"seed {seed}: {report.stopped}"
        again = optimize_with_report(result).report
        assert not again.edits, f"seed {seed}: a second run must change nothing; got {again.edits[0]}"
