"""Gradients of LayerNormalization and RMSNormalization.

Let n be the normalized x, f the factor that normalized it, and g = dy * scale; means are over the normalized axes.
LayerNormalization has dx = f * (g - mean(g) - n * mean(g * n)).
RMSNormalization, which subtracts no mean, has dx = f * (g - n * mean(g * n)).
The statistics are computed again: they are cheap, and no node of the forward pass gets more outputs.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.grad.registry import operator
from sardonyx._src.ir import Value
from sardonyx._src.ops.backward_step import BackwardStep, Gradients


@operator("LayerNormalization").gradient(17)
def layer_normalization(step: BackwardStep) -> Gradients:
    """The gradients of x, scale and bias.

    The mean and the inverse deviation are outputs, too, and their gradients add to that of x.
    """
    axes = normalized_axes(step)
    x = cast(step, step.input(0), step.dtype(0), stash_type(step))
    centered = step.Sub(x, step.ReduceMean(x, axes))
    factor = inverse_root(step, step.Mul(centered, centered), axes)
    normal = step.Mul(centered, factor)
    gradients = scale_gradients(step, normal)
    d_normal = scaled_gradient(step)
    projection = step.Mul(normal, step.ReduceMean(step.Mul(d_normal, normal), axes))
    d_x = step.Mul(factor, step.Sub(step.Sub(d_normal, step.ReduceMean(d_normal, axes)), projection))
    if step.has_gradient(1) or step.has_gradient(2):
        d_x = add_statistics(step, d_x, normal, factor)
    return [cast(step, d_x, stash_type(step), step.dtype(0)), *gradients]


@operator("RMSNormalization").gradient(23)
def rms_normalization(step: BackwardStep) -> Gradients:
    axes = normalized_axes(step)
    x = cast(step, step.input(0), step.dtype(0), stash_type(step))
    factor = inverse_root(step, step.Mul(x, x), axes)
    normal = step.Mul(x, factor)
    gradients = scale_gradients(step, normal)
    d_normal = scaled_gradient(step)
    projection = step.Mul(normal, step.ReduceMean(step.Mul(d_normal, normal), axes))
    d_x = step.Mul(factor, step.Sub(d_normal, projection))
    return [cast(step, d_x, stash_type(step), step.dtype(0)), *gradients]


def normalized_axes(step: BackwardStep) -> Value:
    """The axes of x from the attribute `axis` on."""
    return step.integers(range(step.axis(), step.rank(0)))


def stash_type(step: BackwardStep) -> DataType:
    """The element type of the statistics."""
    return DataType.from_number(step.inference.integer("stash_type"))


def cast(step: BackwardStep, value: Value, own: DataType, dtype: DataType) -> Value:
    """A tensor of type `own` in another one."""
    return value if own is dtype else step.op("Cast", value, to=dtype)


def inverse_root(step: BackwardStep, squares: Value, axes: Value) -> Value:
    """1 / sqrt(mean(squares) + epsilon)."""
    epsilon = step.constant(step.inference.number("epsilon"), stash_type(step))
    return step.Reciprocal(step.Sqrt(step.Add(step.ReduceMean(squares, axes), epsilon)))


def scaled_gradient(step: BackwardStep) -> Value:
    """The gradient of the normalized x, in the type of the statistics."""
    product = step.Mul(step.gradient(), step.input(1))
    return cast(step, product, step.dtype(1), stash_type(step))


def scale_gradients(step: BackwardStep, normal: Value) -> Sequence[Value | None]:
    """The gradients of scale and bias, summed to their shapes."""
    d_scale = d_bias = None
    if step.wants(1):
        rounded = cast(step, normal, stash_type(step), step.dtype(1))
        d_scale = step.reduce_to_input(step.Mul(step.gradient(), rounded), 1)
    if step.wants(2):
        d_bias = step.reduce_to_input(step.gradient(), 2)
    return d_scale, d_bias


def add_statistics(step: BackwardStep, d_x: Value, normal: Value, factor: Value) -> Value:
    """The gradient of x, plus the contributions of the outputs mean and f: d_mean / count - d_f * f^2 * n / count."""
    count = step.Div(step.Size(normal), step.Max(step.Size(factor), step.integers(1)))
    if step.has_gradient(1):
        d_x = step.Add(d_x, step.Div(step.gradient(1), step.CastLike(count, normal)))
    if step.has_gradient(2):
        slope = step.Mul(step.gradient(2), step.Mul(factor, factor))
        d_x = step.Sub(d_x, step.Div(step.Mul(slope, normal), step.CastLike(count, normal)))
    return d_x
