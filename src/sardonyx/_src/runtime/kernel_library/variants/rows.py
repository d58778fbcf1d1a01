"""Reductions, softmax and norms, along the last and other axes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sardonyx._src.ir import Model
from sardonyx._src.runtime.kernel_library.variants.variant_builder import Dims, VariantBuilder, int64s

SHAPES: tuple[Dims, ...] = ((4, 16), (4, "S", 16), ("B", "S", 16), (1, 8, 7, 7))
AXES = ([-1], [0], [1], [-2, -1], [0, 1])
REDUCTIONS = "ReduceMean ReduceSum ReduceMax ReduceMin ReduceL2 ReduceSumSquare ReduceProd".split()


def models() -> Iterator[Model]:
    for shape in SHAPES:
        yield reductions(shape)
        yield norms(shape)
    yield sums_of_expressions()


def reductions(shape: Dims) -> Model:
    b = VariantBuilder()
    for axes in AXES:
        if max(axes) < len(shape):
            for name in REDUCTIONS:
                b.result(getattr(b, name)(b.operand(*shape), int64s(*axes)))
            for name in ("ReduceSum", "ReduceMax", "ReduceMin"):
                b.result(getattr(b, name)(b.operand(*shape, dtype="int64"), int64s(*axes)))
    for axis in (-1, 1, 0):
        for name in ("ArgMax", "ArgMin"):
            b.result(getattr(b, name)(b.operand(*shape), axis=axis, keepdims=0))
        for dtype in ("float32", "int64"):
            b.result(b.CumSum(b.operand(*shape, dtype=dtype), np.int64(axis)))
        b.result(b.TopK(b.operand(*shape), int64s(1), axis=axis)[0])
    return b.finish()


def norms(shape: Dims) -> Model:
    """Softmax and norms as operators, and LayerNormalization as exporters write it out."""
    b, size = VariantBuilder(), shape[-1]
    assert isinstance(size, int), "rows have a known length"
    for axis in (-1, 1):
        b.result(b.Softmax(b.operand(*shape), axis=axis))
        b.result(b.LogSoftmax(b.operand(*shape), axis=axis))
        b.result(b.LpNormalization(b.operand(*shape), axis=axis))
    scale, bias = b.weight(size), b.weight(size)
    b.result(b.LayerNormalization(b.operand(*shape), scale, bias))
    b.result(b.LayerNormalization(b.operand(*shape), scale))
    b.result(b.LayerNormalization(b.operand(*shape) + b.operand(*shape), scale, bias))
    b.result(root_mean_square(b, b.operand(*shape), scale))
    x = b.operand(*shape)
    centered = x - b.ReduceMean(x, int64s(-1))
    variance = b.ReduceMean(centered * centered, int64s(-1))
    b.result(centered / b.Sqrt(variance + np.float32(1e-6)) * scale + bias)
    if len(shape) == 4 and isinstance(shape[1], int):
        columns = (b.weight(shape[1]), b.weight(shape[1]))
        b.result(b.InstanceNormalization(b.operand(*shape), *columns))
        b.result(b.GroupNormalization(b.operand(*shape), *columns, num_groups=2))
        b.result(b.BatchNormalization(b.operand(*shape), *columns, *columns))
        b.result(b.Relu(b.BatchNormalization(b.operand(*shape), *columns, *columns)))
    return b.finish()


def root_mean_square(b: VariantBuilder, x: Any, scale: Any) -> Any:
    return x / b.Sqrt(b.ReduceMean(x * x, int64s(-1)) + np.float32(1e-6)) * scale


def sums_of_expressions() -> Model:
    """Losses, distances and lengths of vectors."""
    b = VariantBuilder()
    for axis in (-1, 1):
        axes = int64s(axis)
        x, y = b.operand("N", 8, 4), b.operand("N", 8, 4)
        b.result(b.ReduceSum(x * y, axes))
        x, y = b.operand("N", 8, 4), b.operand("N", 8, 4)
        b.result(b.ReduceMean((x - y) * (x - y), axes))
        x = b.operand("N", 8, 4)
        b.result(b.Sqrt(b.ReduceSum(x * x, axes)))
        b.result(b.ReduceSum(b.Exp(b.operand("N", 8, 4)), axes))
    return b.finish()
