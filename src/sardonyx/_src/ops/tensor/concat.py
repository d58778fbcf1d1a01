"""Concat: concatenates tensors along one axis.

Spec: ai.onnx Concat-1, -4, -11, -13.  `axis` is 1 by default in version 1 and required from 4 on; 11 specifies
a negative one, which is supported here in all versions; 4 and 13 add element types.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ir.dims import dim_add
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.support.axes import normalize_axis
from sardonyx._src.ops.support.shapes import axis_of, first_element_type, merge_dims
from sardonyx._src.ops.tensor.elements import MAX_KNOWN_ELEMENTS, elements, restore_element_type
from sardonyx._src.ops.version_adapter import keep

op = Operator("Concat", moves_data=True, under_permutation="concat", size_rule="operands")
op.convert((11, 4))(normalize_axis)
op.convert((1, 4))(lambda adapter: adapter.same() if adapter.has("axis") else adapter.same(axis=1))
op.convert((4, 1))(keep)


@op.infer(1, 4, 11, 13)
def infer(inference: Inference) -> Result:
    dtype = first_element_type(*inference.inputs)
    if dtype is None:
        return None
    shapes = [inference.shape(i) for i in range(len(inference.inputs))]
    known = [s for s in shapes if s is not None]
    if not known:
        return TensorType(dtype)
    if len({len(s) for s in known}) > 1:
        inference.fail(f"inputs must have the same rank; got {', '.join(str(len(s)) for s in known)}")
    axis = inference.axis(inference.integer("axis", 1), len(known[0]))
    columns = list(zip(*known, strict=True))
    total = dim_add(*columns[axis]) if len(known) == len(shapes) else None
    return TensorType(
        dtype,
        tuple(
            total if i == axis else merge_dims(inference, column, "inputs")
            for i, column in enumerate(columns)
        ),
    )


@op.value(1, 4, 11, 13)
@restore_element_type
def value(inference: Inference) -> Known | None:
    parts = [
        known_elements
        for i in range(len(inference.inputs))
        if (known_elements := elements(inference, i)) is not None
    ]
    if len(parts) < len(inference.inputs) or all(
        inference.value(i) is None for i in range(len(inference.inputs))
    ):
        return None
    if (
        sum(part.size for part in parts) > MAX_KNOWN_ELEMENTS
        or len({part.ndim for part in parts}) > 1
        or parts[0].ndim == 0
    ):
        return None
    return np.concatenate(parts, inference.axis(inference.integer("axis", 1), parts[0].ndim))


@op.eval(1, 4, 11, 13)
def evaluate(*inputs: Array, axis: int = 1) -> Array:
    """inputs: [..., n, ...] each, which differ only in the size of `axis`; result: [..., sum of n, ...]."""
    shapes = [x.shape for x in inputs]
    if len({len(s) for s in shapes}) > 1:
        raise EvaluationError(f"inputs must have the same rank; got shapes {', '.join(map(str, shapes))}")
    axis = axis_of(axis, inputs[0].ndim)
    if len({s[:axis] + s[axis + 1 :] for s in shapes}) > 1:
        raise EvaluationError(
            f"inputs must have equal shapes except in axis {axis}; got {', '.join(map(str, shapes))}"
        )
    return np.concatenate(inputs, axis)
