"""LRN: local response normalization; each element divided by a power of the sum of squares in neighboring channels.

Spec: ai.onnx LRN-1, -13.  Both mean the same; 13 adds bfloat16.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.support.arithmetic import compute_in_float32
from sardonyx._src.ops.support.shapes import same_tensor

op = Operator("LRN", tolerance="rounding", computes_in_float32=True)


@op.infer(1, 13)
def infer(inference: Inference) -> Result:
    rank = inference.rank(0)
    if rank is not None and rank < 2:
        inference.fail(f"the input must have rank >= 2 ([N, C, ...]); got rank {rank}")
    if inference.integer("size") < 1:
        inference.fail(f"size must be >= 1; got {inference.integer('size')}")
    return same_tensor(inference)


@op.eval(1, 13)
@compute_in_float32
def eval_13(x: Array, *, size: int, alpha: float, beta: float, bias: float) -> Array:
    """x, result: [N, C, *spatial]; if `size` is even, one more channel after the element's own counts than before."""
    if x.ndim < 2 or size < 1:
        raise EvaluationError(
            f"x must have rank >= 2 ([N, C, ...]) and size must be >= 1; got rank {x.ndim} and size {size}"
        )
    number = x.dtype.type
    scale = sum_neighbors(np.square(x), before=(size - 1) // 2, after=size // 2)
    scale *= number(alpha / size)
    scale += number(bias)
    return x / np.power(scale, number(beta), out=scale)


def sum_neighbors(x: Array, before: int, after: int) -> Array:
    """Each element of x [N, C, *spatial] plus the elements of up to `before` channels before and `after` after it."""
    channels = x.shape[1]
    total = x.copy()
    for distance in range(1, min(max(before, after) + 1, channels)):
        if distance <= before:
            total[:, distance:] += x[:, :-distance]
        if distance <= after:
            total[:, :-distance] += x[:, distance:]
    return total
