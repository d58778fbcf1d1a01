"""RandomNormal, RandomNormalLike: numbers drawn from a normal distribution.

Spec: ai.onnx RandomNormal-1, -22 and RandomNormalLike-1, -22, which differ in element types.  The shape is an
attribute, or that of an input, whose type is the default of `dtype`, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Call, Operator
from sardonyx._src.ops.arithmetic import narrow
from sardonyx._src.ops.random.drawing import drawn_type, floats, infer_drawn, infer_like, room

random_normal = Operator(
    "RandomNormal", tolerance="random", about="numbers drawn from a normal distribution."
)
random_normal_like = Operator(
    "RandomNormalLike",
    tolerance="random",
    about="numbers drawn from a normal distribution, in the shape of another tensor.",
)
random_normal.infer(1, 22)(infer_drawn)
random_normal_like.infer(1, 22)(infer_like)


for one in (random_normal, random_normal_like):
    one.convert((1, 22), (22, 1))(lambda c: c.same())


@random_normal.eval(1, 22)
def evaluate(
    *, shape: tuple[int, ...], dtype: int, seed: float | None = None, scale: float, mean: float, call: Call
) -> Array:
    """result: [*shape] of the float type that `dtype` numbers."""
    return normal(shape, drawn_type(dtype, None, floats(call.version)), seed, scale, mean, call)


@random_normal_like.eval(1, 22)
def evaluate_like(
    input: Array,
    *,
    dtype: int | None = None,
    seed: float | None = None,
    scale: float,
    mean: float,
    call: Call,
) -> Array:
    """result: of the shape of the input, which may be of any type."""
    found = drawn_type(dtype, DataType.of(input.dtype), floats(call.version))
    return normal(input.shape, found, seed, scale, mean, call)


def normal(
    shape: Sequence[int], dtype: DataType, seed: float | None, scale: float, mean: float, call: Call
) -> Array:
    drawn = call.generator(seed).standard_normal(room(shape, dtype, call))
    return narrow(mean + scale * drawn, dtype.numpy)
