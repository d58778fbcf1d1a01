"""Expand: a tensor repeated along axes of size 1, as broadcasting does.

Spec: ai.onnx Expand-8, -13, which differ in element types.  Broadcasting goes both ways: where `shape` has 1, or ends
early, the input's own size stays.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.shapes import broadcast
from sardonyx._src.ops.tensor.elements import LIMIT, elements, numbers, settled
from sardonyx._src.ops.tensor.zeros import zero

op = Operator("Expand")


@op.convert((8, 0))
def by_tile(c: Change) -> Converted:
    """Axes of size 1 repeated, where all sizes are known."""
    wanted, sizes = c.t.constant(1), c.shape(0)
    if wanted is None:
        c.refuse("the shape is not constant, and would have to be")
    try:
        shape = np.broadcast_shapes(sizes, tuple(int(n) for n in wanted.reshape(-1)))
    except ValueError:
        c.refuse(f"shapes {list(sizes)} and {wanted.tolist()} cannot be broadcast to one")
    if 0 in shape:
        return c.constant(np.full(shape, zero(c.dtype(0).numpy)), c.dtype(0))
    full = (1,) * (len(shape) - len(sizes)) + sizes
    x = c.Reshape(c.input(0), c.integers(full)) if full != sizes else c.input(0)
    repeats = [1 if n == m else n for n, m in zip(shape, full, strict=True)]
    return c.Tile(x, c.integers(repeats))


@op.infer(8, 13)
def infer(t: Inference) -> Result:
    data, shape = t.tensor(0), t.dims(1)
    if data is None:
        return None
    if shape is not None and any(isinstance(n, int) and n < 0 for n in shape):
        t.fail("the shape has a negative size")
    return TensorType(data.dtype, broadcast(t, [data.shape, shape]))


@op.value(8, 13)
@settled
def value(t: Inference) -> Known | None:
    found, answer = elements(t, 0), infer(t)
    if found is None or not isinstance(answer, TensorType) or answer.shape is None:
        return None
    sizes = numbers(answer.shape)
    return None if sizes is None or math.prod(sizes) > LIMIT else np.broadcast_to(found, sizes)


@op.eval(8, 13)
def evaluate(input: Array, shape: Array, *, call: Call) -> Array:
    """shape: [n] int64; result: of the shape to which input and `shape` broadcast."""
    wanted = [int(n) for n in shape.reshape(-1)]
    if min(wanted, default=0) < 0:
        raise EvaluationError(f"shape is {wanted}, where no size may be negative")
    rank = max(input.ndim, len(wanted))
    own = (1,) * (rank - input.ndim) + input.shape
    wanted = [1] * (rank - len(wanted)) + wanted
    if any(a != b and 1 not in (a, b) for a, b in zip(own, wanted, strict=True)):
        raise EvaluationError(f"shape {list(input.shape)} and shape {wanted} cannot be broadcast to one")
    sizes = [b if a == 1 else a for a, b in zip(own, wanted, strict=True)]
    claim(call, sizes, input.dtype, "Expand result")
    return np.broadcast_to(input, sizes).copy()
