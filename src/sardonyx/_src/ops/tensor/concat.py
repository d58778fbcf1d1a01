"""Concat: tensors joined along one axis.

Spec: ai.onnx Concat-1, -4, -11, -13.  `axis` is 1 by default in version 1 and required from 4 on; 11 says that a
negative one counts from the back, which it does here in all versions; 4 and 13 add element types.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.dims import dim_add
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.axes import from_the_front
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.shapes import axis_of, element, merge_dims
from sardonyx._src.ops.tensor.elements import LIMIT, elements, settled

op = Operator("Concat")
op.convert((11, 4))(from_the_front)
op.convert((1, 4))(lambda c: c.same() if c.has("axis") else c.same(axis=1))
op.convert((4, 1))(lambda c: c.same())


@op.infer(1, 4, 11, 13)
def infer(t: Inference) -> Result:
    dtype = element(*t.inputs)
    if dtype is None:
        return None
    shapes = [t.shape(i) for i in range(len(t.inputs))]
    known = [s for s in shapes if s is not None]
    if not known:
        return TensorType(dtype)
    if len({len(s) for s in known}) > 1:
        t.fail(f"inputs differ in rank: {', '.join(str(len(s)) for s in known)}")
    axis = t.axis(t.integer("axis", 1), len(known[0]))
    columns = list(zip(*known, strict=True))
    total = dim_add(*columns[axis]) if len(known) == len(shapes) else None
    return TensorType(
        dtype,
        tuple(total if i == axis else merge_dims(t, column, "inputs") for i, column in enumerate(columns)),
    )


@op.value(1, 4, 11, 13)
@settled
def value(t: Inference) -> Known | None:
    parts = [found for i in range(len(t.inputs)) if (found := elements(t, i)) is not None]
    if len(parts) < len(t.inputs) or all(t.value(i) is None for i in range(len(t.inputs))):
        return None
    if (
        sum(part.size for part in parts) > LIMIT
        or len({part.ndim for part in parts}) > 1
        or parts[0].ndim == 0
    ):
        return None
    return np.concatenate(parts, t.axis(t.integer("axis", 1), parts[0].ndim))


@op.eval(1, 4, 11, 13)
def evaluate(*inputs: Array, axis: int = 1) -> Array:
    """inputs: [..., n, ...] each, which differ in the size of `axis` alone; result: [..., sum of n, ...]."""
    shapes = [x.shape for x in inputs]
    if len({len(s) for s in shapes}) > 1:
        raise EvaluationError(f"inputs of shapes {', '.join(map(str, shapes))} differ in rank")
    axis = axis_of(axis, inputs[0].ndim)
    if len({s[:axis] + s[axis + 1 :] for s in shapes}) > 1:
        raise EvaluationError(
            f"inputs of shapes {', '.join(map(str, shapes))} differ in more than axis {axis}"
        )
    return np.concatenate(inputs, axis)
