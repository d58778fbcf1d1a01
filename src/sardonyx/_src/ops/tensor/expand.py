"""Expand: broadcasts a tensor to a shape.

Spec: ai.onnx Expand-8, -13, which differ in element types.  Broadcasting is bidirectional: where an entry of `shape` is
1 or missing, the size of the input is kept.
"""

from __future__ import annotations

import math

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.support.shapes import broadcast
from sardonyx._src.ops.tensor.elements import (
    MAX_KNOWN_ELEMENTS,
    are_operands_known,
    elements,
    numbers,
    restore_element_type,
)
from sardonyx._src.ops.tensor.zeros import zero
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("Expand", moves_data=True, size_rule="broadcast_shape", sizes_input=1, parameters=(1,))


@op.convert((8, 0))
def replace_by_tile(adapter: Adapter) -> AdaptedNode:
    """Tile along axes of size 1; all sizes must be known."""
    target, sizes = adapter.inference.constant(1), adapter.shape(0)
    if target is None:
        adapter.refuse("the shape must be constant to use Tile")
    try:
        shape = np.broadcast_shapes(sizes, tuple(int(n) for n in target.reshape(-1)))
    except ValueError:
        adapter.refuse(f"shapes must broadcast to one; got {list(sizes)} and {target.tolist()}")
    if 0 in shape:
        return adapter.constant(np.full(shape, zero(adapter.dtype(0).numpy)), adapter.dtype(0))
    full = (1,) * (len(shape) - len(sizes)) + sizes
    x = adapter.Reshape(adapter.input(0), adapter.integers(full)) if full != sizes else adapter.input(0)
    repeats = [1 if n == m else n for n, m in zip(shape, full, strict=True)]
    return adapter.Tile(x, adapter.integers(repeats))


@op.infer(8, 13)
def infer(inference: Inference) -> Result:
    data, shape = inference.tensor(0), inference.dims(1)
    if data is None:
        return None
    if shape is not None and any(isinstance(n, int) and n < 0 for n in shape):
        inference.fail(f"sizes of the shape must be >= 0; got {shape}")
    return TensorType(data.dtype, broadcast(inference, [data.shape, shape]))


@op.value(8, 13)
@restore_element_type
def value(inference: Inference) -> Known | None:
    known, result_type = elements(inference, 0), infer(inference)
    if (
        known is None
        or not are_operands_known(inference)
        or not isinstance(result_type, TensorType)
        or result_type.shape is None
    ):
        return None
    sizes = numbers(result_type.shape)
    return None if sizes is None or math.prod(sizes) > MAX_KNOWN_ELEMENTS else np.broadcast_to(known, sizes)


@op.eval(8, 13)
def evaluate(input: Array, shape: Array, *, context: RunContext) -> Array:
    """shape: [n] int64; result: of the shape to which input and `shape` broadcast."""
    target = [int(n) for n in shape.reshape(-1)]
    if min(target, default=0) < 0:
        raise EvaluationError(f"sizes of the shape must be >= 0; got {target}")
    rank = max(input.ndim, len(target))
    own = (1,) * (rank - input.ndim) + input.shape
    target = [1] * (rank - len(target)) + target
    if any(a != b and 1 not in (a, b) for a, b in zip(own, target, strict=True)):
        raise EvaluationError(f"shapes must broadcast to one; got {list(input.shape)} and {target}")
    sizes = [b if a == 1 else a for a, b in zip(own, target, strict=True)]
    check_result_bytes(context, sizes, input.dtype, "Expand result")
    return np.broadcast_to(input, sizes).copy()
