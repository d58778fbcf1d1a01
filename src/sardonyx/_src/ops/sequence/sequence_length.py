"""SequenceLength: the number of elements of a sequence.

Spec: ai.onnx SequenceLength-11.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.sequence.positions import sequence_element

op = Operator("SequenceLength")


@op.infer(11)
def infer(inference: Inference) -> Result:
    sequence_element(inference, 0)
    return TensorType(DataType.INT64, ())


@op.eval(11)
def evaluate(input_sequence: list[Array]) -> Array:
    return np.array(len(input_sequence), np.int64)
