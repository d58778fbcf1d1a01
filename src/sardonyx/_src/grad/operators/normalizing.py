"""Gradients of Softmax, LogSoftmax, BatchNormalization, InstanceNormalization, LpNormalization and LRN."""

from __future__ import annotations

from sardonyx._src.grad.registry import operator
from sardonyx._src.ir import Value
from sardonyx._src.ops.backward_step import BackwardStep, Gradients


@operator("Softmax").gradient(13)
def softmax(step: BackwardStep) -> Gradients:
    """y * (dy - sum(dy * y))."""
    y, dy, axis = step.output(), step.gradient(), step.integers([step.inference.integer("axis")])
    return step.Mul(y, step.Sub(dy, step.ReduceSum(step.Mul(dy, y), axis)))


@operator("LogSoftmax").gradient(13)
def log_softmax(step: BackwardStep) -> Gradients:
    """dy - exp(y) * sum(dy)."""
    dy, axis = step.gradient(), step.integers([step.inference.integer("axis")])
    return step.Sub(dy, step.Mul(step.Exp(step.output()), step.ReduceSum(dy, axis)))


@operator("BatchNormalization").gradient(15)
def batch_normalization(step: BackwardStep) -> Gradients:
    """In training mode the statistics are those of x, and gradients flow through them, too (Ioffe and Szegedy, 2015)."""
    training = step.inference.integer("training_mode")
    x, scale, dy = step.input(0), step.input(1), step.gradient()
    axes = step.integers([0, *range(2, step.rank(0))])
    column = step.integers([-1, *[1] * (step.rank(0) - 2)]) if step.rank(0) > 1 else step.integers([-1])
    wide = step.CastLike
    mean, variance = (
        (step.ReduceMean(x, axes), None)
        if training
        else (per_channel(step, 3, column), per_channel(step, 4, column))
    )
    centered = step.Sub(x, mean)
    if variance is None:
        variance = step.ReduceMean(step.Mul(centered, centered), axes)
    epsilon = step.scalar(step.inference.number("epsilon"))
    factor = step.Reciprocal(step.Sqrt(step.Add(variance, epsilon)))
    normal = step.Mul(centered, factor)
    d_scale = step.reshape_like(step.ReduceSum(step.Mul(dy, normal), axes, keepdims=0), scale)
    d_bias = step.reshape_like(step.ReduceSum(dy, axes, keepdims=0), scale)
    d_normal = step.Mul(dy, step.Reshape(wide(scale, x), column))
    if training:
        of_batch = normalized_gradient(step, d_normal, normal, factor, axes)
        total, *statistics = running_statistics(step, of_batch, centered, axes, column)
        return [total, d_scale, d_bias, *statistics]
    d_x = step.Mul(d_normal, factor)
    d_mean = None
    if step.wants(3):
        d_mean = step.reshape_like(step.Neg(step.ReduceSum(d_x, axes, keepdims=0)), scale)
    half = step.scalar(-0.5)
    d_variance = None
    if step.wants(4):
        slopes = step.Mul(step.Mul(d_x, step.Mul(normal, factor)), half)
        d_variance = step.reshape_like(step.ReduceSum(slopes, axes, keepdims=0), scale)
    return [d_x, step.CastLike(d_scale, scale), step.CastLike(d_bias, step.input(2)), d_mean, d_variance]


def running_statistics(
    step: BackwardStep, d_x: Value, centered: Value, axes: Value, column: Value
) -> list[Value | None]:
    """The gradients of x, plus the contributions of its mean and variance, and of the old running statistics."""
    x, old = step.input(0), step.inference.number("momentum")
    count = step.Div(step.Size(x), step.Max(step.Size(step.input(3)), step.integers(1)))
    share = step.Div(step.scalar(1 - old), step.CastLike(count, x))
    gradients: list[Value | None] = []
    for i, values in ((1, None), (2, centered)):
        if not step.has_gradient(i):
            gradients.append(None)
            continue
        new = step.gradient(i)
        spread = step.Mul(step.Reshape(step.CastLike(new, x), column), share)
        slope = (
            step.Expand(spread, step.Shape(x))
            if values is None
            else step.Mul(spread, step.Add(values, values))
        )
        d_x = step.Add(d_x, slope)
        gradients.append(step.Mul(new, step.scalar(old, 2 + i)))
    return [d_x, *gradients]


def per_channel(step: BackwardStep, i: int, column: Value) -> Value:
    """Input i, a vector over channels, in a shape that broadcasts to x."""
    return step.Reshape(step.CastLike(step.input(i), step.input(0)), column)


def normalized_gradient(
    step: BackwardStep, d_normal: Value, normal: Value, factor: Value, axes: Value
) -> Value:
    """The gradient of x where `normal = (x - mean(x)) * factor`, and factor depends on the variance over the same axes."""
    mean = step.ReduceMean(d_normal, axes)
    projection = step.Mul(normal, step.ReduceMean(step.Mul(d_normal, normal), axes))
    return step.Mul(factor, step.Sub(step.Sub(d_normal, mean), projection))


@operator("InstanceNormalization").gradient(22)
def instance_normalization(step: BackwardStep) -> Gradients:
    x, dy, rank = step.input(0), step.gradient(), step.rank(0)
    spatial, others = step.integers(range(2, rank)), step.integers([0, *range(2, rank)])
    column = step.integers([-1, *[1] * (rank - 2)])
    centered = step.Sub(x, step.ReduceMean(x, spatial))
    variance = step.ReduceMean(step.Mul(centered, centered), spatial)
    epsilon = step.scalar(step.inference.number("epsilon"))
    factor = step.Reciprocal(step.Sqrt(step.Add(variance, epsilon)))
    normal = step.Mul(centered, factor)
    d_normal = step.Mul(dy, step.Reshape(step.input(1), column))
    return [
        normalized_gradient(step, d_normal, normal, factor, spatial),
        step.ReduceSum(step.Mul(dy, normal), others, keepdims=0),
        step.ReduceSum(dy, others, keepdims=0),
    ]


@operator("LpNormalization").gradient(22)
def lp_normalization(step: BackwardStep) -> Gradients:
    """y = x / |x|; rows of zeros have the gradient 0."""
    x, y, dy = step.input(0), step.output(), step.gradient()
    axis, p = step.integers([step.inference.integer("axis")]), step.inference.integer("p")
    norm = step.op("ReduceL1" if p == 1 else "ReduceL2", x, axis)
    slope = step.Sign(x) if p == 1 else y
    inner = step.Sub(dy, step.Mul(slope, step.ReduceSum(step.Mul(dy, y), axis)))
    zero = step.scalar(0)
    is_zero = step.Equal(norm, zero)
    return step.Where(is_zero, zero, step.Div(inner, step.Where(is_zero, step.scalar(1), norm)))


@operator("LRN").gradient(13)
def lrn(step: BackwardStep) -> Gradients:
    """y = x / s^beta, with s = bias + alpha / size * the sum of x^2 over a window of channels.

    A channel contributes to the s of every channel whose window contains it.
    """
    x, dy = step.input(0), step.gradient()
    size = step.inference.integer("size")
    alpha, beta, bias = (step.inference.number(name) for name in ("alpha", "beta", "bias"))
    before, after = (size - 1) // 2, size - 1 - (size - 1) // 2
    squares = channel_means(step, step.Mul(x, x), size, before, after)
    base = step.Add(step.Mul(squares, step.scalar(alpha)), step.scalar(bias))
    power = step.Pow(base, step.scalar(-beta))
    shares = step.Div(step.Mul(step.Mul(dy, x), power), base)
    sums = channel_means(step, shares, size, after, before)
    return step.Sub(step.Mul(dy, power), step.Mul(step.Mul(x, sums), step.scalar(2 * alpha * beta)))


def channel_means(step: BackwardStep, x: Value, size: int, before: int, after: int) -> Value:
    """The sum over a window of channels, divided by its size: [N, C, ...]."""
    channels = step.op("Shape", x, start=1, end=2)
    planes = step.op("Concat", step.integers([-1, 1]), channels, step.integers([1]), axis=0)
    moved = step.op("Transpose", x, perm=[0, *range(2, step.rank(0)), 1])
    rows = step.Reshape(moved, planes)
    pads = [before, 0, after, 0]
    means = step.op("AveragePool", rows, kernel_shape=[size, 1], pads=pads, count_include_pad=1)
    return step.op(
        "Transpose", step.reshape_like(means, moved), perm=[0, step.rank(0) - 1, *range(1, step.rank(0) - 1)]
    )
