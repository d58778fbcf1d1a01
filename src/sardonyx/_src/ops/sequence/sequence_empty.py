"""SequenceEmpty: a sequence without elements.

Spec: ai.onnx SequenceEmpty-11.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import SequenceType, TensorType
from sardonyx._src.ops.api import Operator, RuntimeValue
from sardonyx._src.ops.inference import Inference, Result

op = Operator("SequenceEmpty")
ELEMENT_TYPE_NUMBERS = {int(d) for d in DataType} - {int(DataType.UNDEFINED)}


@op.infer(11)
def infer(inference: Inference) -> Result:
    dtype = inference.integer("dtype", DataType.FLOAT)
    if dtype not in ELEMENT_TYPE_NUMBERS:
        inference.fail(f"dtype must be the number of an element type; got {dtype}")
    return SequenceType(TensorType(DataType.from_number(dtype)))


@op.eval(11)
def evaluate(*, dtype: int = DataType.FLOAT) -> list[RuntimeValue]:
    """An empty list, whatever `dtype`, which is the number of the element type of the sequence's tensors."""
    if dtype not in ELEMENT_TYPE_NUMBERS:
        raise EvaluationError(f"dtype must be the number of an element type; got {dtype}")
    return []
