"""Shape: the sizes of a tensor as a tensor.

Spec: ai.onnx Shape-1, -13, -15, -19, -21, -23, -24, -25.  15 adds `start` and `end`, the first axis and the one after the
last: they count from the back if negative, and are clamped to the rank.  The others add element types.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Shape, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.tensor.elements import vector
from sardonyx._src.ops.version_adapter import AdaptedNode, Adapter

op = Operator("Shape", reads_shape=True)
SHAPE_VERSIONS = (1, 13, 15, 19, 21, 23, 24, 25)


def requested_sizes(inference: Inference) -> Shape | None:
    """The sizes from `start` to `end`."""
    shape = inference.shape(0)
    if shape is None:
        return None
    return shape[inference.integer("start", 0) : inference.integer("end", len(shape))]


@op.infer(*SHAPE_VERSIONS)
def infer(inference: Inference) -> Result:
    sizes = requested_sizes(inference)
    return TensorType(DataType.INT64, (None if sizes is None else len(sizes),))


@op.value(*SHAPE_VERSIONS)
def value(inference: Inference) -> Known | None:
    sizes = requested_sizes(inference)
    return None if sizes is None else vector(sizes)


@op.convert((15, 13))
def to_13(adapter: Adapter) -> AdaptedNode:
    """Slice the full shape."""
    if not (adapter.inference.integer("start") or adapter.has("end")):
        return adapter.same(drop=("start",))
    ends = [
        adapter.integers([n])
        for n in (adapter.inference.integer("start"), adapter.inference.integer("end", (1 << 63) - 1))
    ]
    return adapter.Slice(adapter.Shape(adapter.input(0)), *ends)


@op.eval(*SHAPE_VERSIONS)
def evaluate(data: Array, *, start: int = 0, end: int | None = None) -> Array:
    """result: [end - start] int64."""
    return np.array(data.shape[start:end], np.int64)
