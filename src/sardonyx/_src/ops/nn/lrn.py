"""LRN: each element scaled down by the squares of its neighbours in other channels.

Spec: ai.onnx LRN-1, -13.  Both mean the same; 13 adds bfloat16.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.arithmetic import in_float32
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.shapes import same_tensor

op = Operator("LRN", tolerance="rounding")


@op.infer(1, 13)
def infer(t: Inference) -> Result:
    rank = t.rank(0)
    if rank is not None and rank < 2:
        t.fail(f"the input has rank {rank}, [N, C, ...] is wanted")
    if t.integer("size") < 1:
        t.fail(f"size is {t.integer('size')}, at least 1 is wanted")
    return same_tensor(t)


@op.eval(1, 13)
@in_float32
def eval_13(x: Array, *, size: int, alpha: float, beta: float, bias: float) -> Array:
    """x, result: [N, C, *spatial]; of an even `size`, the larger half of the neighbours follows."""
    if x.ndim < 2 or size < 1:
        raise EvaluationError(
            f"x has rank {x.ndim} and size is {size}: [N, C, ...] and at least 1 are wanted"
        )
    number = x.dtype.type
    scale = neighbours(np.square(x), (size - 1) // 2, size // 2)
    scale *= number(alpha / size)
    scale += number(bias)
    return x / np.power(scale, number(beta), out=scale)


def neighbours(x: Array, before: int, after: int) -> Array:
    """The sum of each element of x [N, C, *spatial] with its neighbours in the channels around it."""
    channels = x.shape[1]
    total = x.copy()
    for distance in range(1, min(max(before, after) + 1, channels)):
        if distance <= before:
            total[:, distance:] += x[:, :-distance]
        if distance <= after:
            total[:, :-distance] += x[:, distance:]
    return total
