"""Reductions, softmax and norms, along the last and other axes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sardonyx._src.ir import Model
from sardonyx._src.runtime.kernel_library.variants.variant_builder import (
    ALL,
    Dims,
    VariantBuilder,
    int64s,
)

SHAPES: tuple[Dims, ...] = ((4, 16), (4, "S", 16), ("B", "S", 16), (1, 8, 7, 7))
AXES = ([-1], [0], [1], [-2, -1], [0, 1])
EPSILONS = (float(np.float32(1e-5)), float(np.float32(1e-6)))
ACTIVATIONS = {name: ALL[name] for name in ("", "Relu", "silu", "Gelu", "LeakyRelu 0.01", "LeakyRelu 0.2")}
REDUCTIONS = "ReduceMean ReduceSum ReduceMax ReduceMin ReduceL2 ReduceSumSquare ReduceProd".split()


def models() -> Iterator[Model]:
    for shape in SHAPES:
        yield reductions(shape)
        yield norms(shape)
        yield reductions_with_epilogues(shape)
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


def reductions_with_epilogues(shape: Dims) -> Model:
    """Denominators of norms, as exporters write them out, and other expressions of sums."""
    b = VariantBuilder()
    least, most = np.float32(1e-12), np.float32(3.4028235e38)
    for axes in ([-1], [1]):
        for epsilon in (1e-5, 1e-6):
            for name in ("ReduceMean", "ReduceSum"):
                shifted = (
                    getattr(b, name)(b.operand(*shape), int64s(*axes)) + np.float32(epsilon) for _ in range(4)
                )
                b.result(next(shifted))
                b.result(b.Sqrt(next(shifted)))
                b.result(np.float32(1) / b.Sqrt(next(shifted)))
                b.result(b.Reciprocal(b.Sqrt(next(shifted))))
        b.result(b.Clip(b.ReduceL2(b.operand(*shape), int64s(*axes)), least))
        b.result(b.Clip(b.ReduceL2(b.operand(*shape), int64s(*axes)), least, most))
        for rule in (b.Neg, b.Sqrt, b.Reciprocal, b.Log, b.Relu, b.Sigmoid):
            b.result(rule(b.ReduceSum(b.operand(*shape), int64s(*axes))))
        b.result(b.ReduceSum(b.operand(*shape), int64s(*axes)) * np.float32(0.5))
        b.result(b.Neg(b.ReduceMean(b.operand(*shape), int64s(*axes))))
        b.result(b.ReduceLogSumExp(b.operand(*shape), int64s(*axes)))
        b.result(b.Neg(b.ReduceLogSumExp(b.operand(*shape), int64s(*axes))))
        b.result(b.ReduceL1(b.operand(*shape), int64s(*axes)))
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
    for activation in ACTIVATIONS.values():
        b.result(activation(b, b.LayerNormalization(b.operand(*shape), scale, bias)))
    b.result(root_mean_square(b, b.operand(*shape), scale))
    x = b.operand(*shape)
    centered = x - b.ReduceMean(x, int64s(-1))
    variance = b.ReduceMean(centered * centered, int64s(-1))
    b.result(centered / b.Sqrt(variance + np.float32(1e-6)) * scale + bias)
    if len(shape) == 4 and isinstance(shape[1], int):
        columns = (b.weight(shape[1]), b.weight(shape[1]))
        b.result(b.InstanceNormalization(b.operand(*shape), *columns))
        b.result(b.GroupNormalization(b.operand(*shape), *columns, num_groups=2))
        for activation in ACTIVATIONS.values():
            for epsilon in EPSILONS:
                y = b.InstanceNormalization(b.operand(*shape), *columns, epsilon=epsilon)
                b.result(activation(b, y))
                y = b.GroupNormalization(b.operand(*shape), *columns, num_groups=2, epsilon=epsilon)
                b.result(activation(b, y))
                b.result(activation(b, written_group_norm(b, shape, columns, epsilon)))
        y = b.InstanceNormalization(b.operand(*shape), *columns, epsilon=EPSILONS[0])
        b.result(b.Relu(y) + b.operand(*shape))
        b.result(b.BatchNormalization(b.operand(*shape), *columns, *columns))
        b.result(b.Relu(b.BatchNormalization(b.operand(*shape), *columns, *columns)))
    return b.finish()


def written_group_norm(b: VariantBuilder, shape: Dims, columns: tuple[Any, Any], epsilon: float) -> Any:
    """GroupNormalization as exporters of older versions write it: an InstanceNormalization of reshaped groups."""
    ones, zeros = np.ones(2, np.float32), np.zeros(2, np.float32)
    groups = b.Reshape(b.operand(*shape), int64s(0, 2, -1))
    y = b.Reshape(b.InstanceNormalization(groups, ones, zeros, epsilon=epsilon), int64s(*map(int, shape)))
    scale, bias = (column.reshape(-1, 1, 1) for column in columns)
    return y * scale + bias


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
