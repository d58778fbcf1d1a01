"""Shape: the sizes of a tensor as a tensor.

Spec: ai.onnx Shape-1, -13, -15, -19, -21, -23, -24, -25.  15 adds `start` and `end`, axes that count from the back
when negative and are clamped to the rank; the others add element types.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import Shape, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.change import Change, Converted
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.tensor.elements import vector

op = Operator("Shape")
VERSIONS = (1, 13, 15, 19, 21, 23, 24, 25)


def part(t: Inference) -> Shape | None:
    """The sizes that the node asks for."""
    shape = t.shape(0)
    if shape is None:
        return None
    return shape[t.integer("start", 0) : t.integer("end", len(shape))]


@op.infer(*VERSIONS)
def infer(t: Inference) -> Result:
    found = part(t)
    return TensorType(DataType.INT64, (None if found is None else len(found),))


@op.value(*VERSIONS)
def value(t: Inference) -> Known | None:
    found = part(t)
    return None if found is None else vector(found)


@op.convert((15, 13))
def to_13(c: Change) -> Converted:
    """A slice of all sizes."""
    if not (c.t.integer("start") or c.has("end")):
        return c.same(drop=("start",))
    ends = [c.integers([n]) for n in (c.t.integer("start"), c.t.integer("end", (1 << 63) - 1))]
    return c.Slice(c.Shape(c.input(0)), *ends)


@op.eval(*VERSIONS)
def evaluate(data: Array, *, start: int = 0, end: int | None = None) -> Array:
    """result: [end - start] int64."""
    return np.array(data.shape[start:end], np.int64)
