"""Size: how many elements a tensor has.

Spec: ai.onnx Size-1, -13, -19, -21, -23, -24, -25, which differ in element types.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.shapes import product
from sardonyx._src.ops.tensor.elements import vector

op = Operator("Size")
VERSIONS = (1, 13, 19, 21, 23, 24, 25)


@op.infer(*VERSIONS)
def infer(t: Inference) -> Result:
    return TensorType(DataType.INT64, ())


@op.value(*VERSIONS)
def value(t: Inference) -> Known | None:
    shape = t.shape(0)
    return None if shape is None else vector([product(shape)]).reshape(())


@op.eval(*VERSIONS)
def evaluate(data: Array) -> Array:
    """result: int64 scalar, 1 for a scalar."""
    return np.array(data.size, np.int64)
