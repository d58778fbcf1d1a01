"""RandomUniform, RandomUniformLike: numbers drawn evenly from an interval.

Spec: ai.onnx RandomUniform-1, -22 and RandomUniformLike-1, -22, which differ in element types.  The shape is an
attribute, or that of an input, whose type is the default of `dtype`, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Call, Operator
from sardonyx._src.ops.arithmetic import narrow
from sardonyx._src.ops.random.drawing import drawn_type, floats, infer_drawn, infer_like, room

random_uniform = Operator("RandomUniform", tolerance="random", about="numbers drawn evenly between two ends.")
random_uniform_like = Operator(
    "RandomUniformLike",
    tolerance="random",
    about="numbers drawn evenly between two ends, in the shape of another tensor.",
)
random_uniform.infer(1, 22)(infer_drawn)
random_uniform_like.infer(1, 22)(infer_like)


for one in (random_uniform, random_uniform_like):
    one.convert((1, 22), (22, 1))(lambda c: c.same())


@random_uniform.eval(1, 22)
def evaluate(
    *, shape: tuple[int, ...], dtype: int, seed: float | None = None, high: float, low: float, call: Call
) -> Array:
    """result: [*shape] of the float type that `dtype` numbers."""
    return uniform(shape, drawn_type(dtype, None, floats(call.version)), seed, high, low, call)


@random_uniform_like.eval(1, 22)
def evaluate_like(
    input: Array, *, dtype: int | None = None, seed: float | None = None, high: float, low: float, call: Call
) -> Array:
    """result: of the shape of the input, which may be of any type."""
    found = drawn_type(dtype, DataType.of(input.dtype), floats(call.version))
    return uniform(input.shape, found, seed, high, low, call)


def uniform(
    shape: Sequence[int], dtype: DataType, seed: float | None, high: float, low: float, call: Call
) -> Array:
    """Numbers from `low` up to `high`, which rounding to a narrow type may reach."""
    drawn = call.generator(seed).random(room(shape, dtype, call))
    return narrow(low + (high - low) * drawn, dtype.numpy)
