"""Size: the number of elements of a tensor.

Spec: ai.onnx Size-1, -13, -19, -21, -23, -24, -25, which differ in element types.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Known, Result
from sardonyx._src.ops.support.shapes import element_count
from sardonyx._src.ops.tensor.elements import vector

op = Operator("Size", reads_shape=True)
SIZE_VERSIONS = (1, 13, 19, 21, 23, 24, 25)


@op.infer(*SIZE_VERSIONS)
def infer(inference: Inference) -> Result:
    return TensorType(DataType.INT64, ())


@op.value(*SIZE_VERSIONS)
def value(inference: Inference) -> Known | None:
    shape = inference.shape(0)
    return None if shape is None else vector([element_count(shape)]).reshape(())


@op.eval(*SIZE_VERSIONS)
def evaluate(data: Array) -> Array:
    """result: an int64 scalar; 1 if data is a scalar."""
    return np.array(data.size, np.int64)
