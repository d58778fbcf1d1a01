"""RandomNormal, RandomNormalLike: numbers drawn from a normal distribution.

Spec: ai.onnx RandomNormal-1, -22 and RandomNormalLike-1, -22; the versions differ in element types.  The shape is an attribute
or the shape of the input, and the type of the input is the default of `dtype`.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator, RunContext
from sardonyx._src.ops.bound_kernel import BoundKernel, NodeBinding
from sardonyx._src.ops.random.direct_draws import bind_draw
from sardonyx._src.ops.random.drawing import (
    check_shape,
    float_types,
    infer_from_shape,
    infer_like,
    sample_type,
)
from sardonyx._src.ops.support.arithmetic import round_to_type

random_normal = Operator(
    "RandomNormal", tolerance="random", about="numbers drawn from a normal distribution."
)
random_normal_like = Operator(
    "RandomNormalLike",
    tolerance="random",
    about="numbers drawn from a normal distribution, in the shape of another tensor.",
)
random_normal.infer(1, 22)(infer_from_shape)
random_normal_like.infer(1, 22)(infer_like)


for op in (random_normal, random_normal_like):
    op.convert((1, 22), (22, 1))(lambda adapter: adapter.same())


@random_normal.eval(1, 22)
def evaluate(
    *,
    shape: tuple[int, ...],
    dtype: int,
    seed: float | None = None,
    scale: float,
    mean: float,
    context: RunContext,
) -> Array:
    """result: [*shape] of the float type with the number `dtype`."""
    return normal(shape, sample_type(dtype, None, float_types(context.version)), seed, scale, mean, context)


@random_normal_like.eval(1, 22)
def evaluate_like(
    input: Array,
    *,
    dtype: int | None = None,
    seed: float | None = None,
    scale: float,
    mean: float,
    context: RunContext,
) -> Array:
    """input: any type; result: the shape of the input."""
    result_type = sample_type(dtype, DataType.of(input.dtype), float_types(context.version))
    return normal(input.shape, result_type, seed, scale, mean, context)


@random_normal.bind(1, 22)
@random_normal_like.bind(1, 22)
def bind(binding: NodeBinding) -> BoundKernel | None:
    """Draws as `normal` does."""
    return bind_draw(binding, "standard_normal", binding.attributes["mean"], binding.attributes["scale"])


def normal(
    shape: Sequence[int], dtype: DataType, seed: float | None, scale: float, mean: float, context: RunContext
) -> Array:
    drawn = context.random_state(seed).standard_normal(check_shape(shape, dtype, context))
    return round_to_type(mean + scale * drawn, dtype.numpy)
