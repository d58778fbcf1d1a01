"""Cases of reductions, softmax, norms of rows, and running sums."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from probes.case_builder import QUARTER, CaseBuilder, KernelCase, pattern

REDUCTIONS = {
    "float32": "Sum Max Min Mean Prod SumSquare L1 L2 LogSum LogSumExp".split(),
    "float64": "Sum Mean Prod LogSumExp".split(),
    "int64": ["Sum", "Max", "Min"],
}
SHAPE = (3, 37, 5)


def cases() -> Iterator[KernelCase]:
    for dtype, names in REDUCTIONS.items():
        for name in names:
            b = CaseBuilder()
            kind = {
                "dtype": dtype,
                "low": 1 if name in ("LogSum", "Prod") else -4,
                "high": 2 if name == "Prod" else 4,
            }
            rule = getattr(b, f"Reduce{name}")
            # Products of many elements would not be exact in float32.
            results = [rule(b.feed(3, 37, **kind), [-1]), rule(b.feed(3, 9, 5, **kind), [1])]
            yield b.case(f"Reduce{name} of {dtype}", *results, tolerance=1e-5)
    b = CaseBuilder()
    yield b.case("ReduceMin of bool", b.ReduceMin(b.feed(3, 37, dtype="bool", low=0, high=1), [-1]))
    b = CaseBuilder()
    x = b.feed(3, 9, 5, low=1)
    yield b.case("sums with what follows", b.Neg(b.ReduceSum(x, [1])), b.Sqrt(b.ReduceMean(x, [1])))
    b = CaseBuilder()
    x = b.feed(3, 37)
    results = [b.Neg(rule(x, [-1])) for rule in (b.ReduceSum, b.ReduceMean, b.ReduceMax, b.ReduceMin)]
    yield b.case("reductions of rows with what follows", *results)
    b = CaseBuilder()
    yield b.case("ArgMax", b.ArgMax(b.feed(*SHAPE), axis=1))
    b = CaseBuilder()
    x = b.feed(3, 9, 5)
    yield b.case("ArgMin", b.ArgMin(x, axis=1), b.ArgMin(x, axis=1, select_last_index=1))
    for axis in (1, -1):
        for name in ("Softmax", "LogSoftmax", "LpNormalization")[: None if axis < 0 else 2]:
            b = CaseBuilder()
            yield b.case(f"{name}, axis {axis}", getattr(b, name)(b.feed(*SHAPE), axis=axis))
        for dtype in ("float32", "int64"):
            b = CaseBuilder()
            yield b.case(
                f"CumSum of {dtype}, axis {axis}", b.CumSum(b.feed(*SHAPE, dtype=dtype), np.int64(axis))
            )
        b = CaseBuilder()
        yield b.case(f"TopK, axis {axis}", *b.TopK(b.feed(*SHAPE), [2], axis=axis))
    b = CaseBuilder()
    yield b.case("TopK of the smallest", *b.TopK(b.feed(3, 37), [3], largest=0))
    b = CaseBuilder()
    yield b.case("Softmax of float64", b.Softmax(b.feed(3, 37, dtype="float64", scale=QUARTER)))
    b = CaseBuilder()
    y = b.Softmax(b.feed(3, 37, dtype="float16", scale=QUARTER))
    yield b.case("Softmax of float16", y, tolerance=1e-3)
    yield from norms()


def norms() -> Iterator[KernelCase]:
    scale, bias = pattern(37, low=1), pattern(37)
    b = CaseBuilder()
    yield b.case("LayerNormalization", b.LayerNormalization(b.feed(3, 37), scale, bias))
    b = CaseBuilder()
    y = b.LayerNormalization(b.feed(3, 37), scale, bias)
    yield b.case("LayerNormalization with what follows", b.Relu(y))
    b = CaseBuilder()
    yield b.case("LayerNormalization without bias", b.LayerNormalization(b.feed(3, 37), scale))
    b = CaseBuilder()
    yield b.case(
        "LayerNormalization and statistics", *b.LayerNormalization(b.feed(3, 37), scale, bias, outputs=3)
    )
    b = CaseBuilder()
    yield b.case("RMSNormalization", b.RMSNormalization(b.feed(3, 37), scale))
    b = CaseBuilder()
    yield b.case("MeanVarianceNormalization", b.MeanVarianceNormalization(b.feed(2, 3, 4, 5)))
