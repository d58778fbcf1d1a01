"""RandomUniform, RandomUniformLike: numbers drawn evenly from an interval.

Spec: ai.onnx RandomUniform-1, -22 and RandomUniformLike-1, -22; the versions differ in element types.  The shape is an
attribute or the shape of the input, and the type of the input is the default of `dtype`.
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

random_uniform = Operator("RandomUniform", tolerance="random", about="numbers drawn evenly between two ends.")
random_uniform_like = Operator(
    "RandomUniformLike",
    tolerance="random",
    about="numbers drawn evenly between two ends, in the shape of another tensor.",
)
random_uniform.infer(1, 22)(infer_from_shape)
random_uniform_like.infer(1, 22)(infer_like)


for op in (random_uniform, random_uniform_like):
    op.convert((1, 22), (22, 1))(lambda adapter: adapter.same())


@random_uniform.eval(1, 22)
def evaluate(
    *,
    shape: tuple[int, ...],
    dtype: int,
    seed: float | None = None,
    high: float,
    low: float,
    context: RunContext,
) -> Array:
    """result: [*shape] of the float type with the number `dtype`."""
    return uniform(shape, sample_type(dtype, None, float_types(context.version)), seed, high, low, context)


@random_uniform_like.eval(1, 22)
def evaluate_like(
    input: Array,
    *,
    dtype: int | None = None,
    seed: float | None = None,
    high: float,
    low: float,
    context: RunContext,
) -> Array:
    """input: any type; result: the shape of the input."""
    result_type = sample_type(dtype, DataType.of(input.dtype), float_types(context.version))
    return uniform(input.shape, result_type, seed, high, low, context)


@random_uniform.bind(1, 22)
@random_uniform_like.bind(1, 22)
def bind(binding: NodeBinding) -> BoundKernel | None:
    """Draws as `uniform` does."""
    low, high = binding.attributes["low"], binding.attributes["high"]
    return bind_draw(binding, "random_sample", low, high - low)


def uniform(
    shape: Sequence[int], dtype: DataType, seed: float | None, high: float, low: float, context: RunContext
) -> Array:
    """Numbers in [low, high); rounding to a narrow type may give `high`."""
    drawn = context.random_state(seed).random_sample(check_shape(shape, dtype, context))
    return round_to_type(low + (high - low) * drawn, dtype.numpy)
