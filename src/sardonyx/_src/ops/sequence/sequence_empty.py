"""SequenceEmpty: a sequence without elements.

Spec: ai.onnx SequenceEmpty-11.
"""

from __future__ import annotations

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.types import SequenceType, TensorType
from sardonyx._src.ops.api import Operator, RuntimeValue
from sardonyx._src.ops.inference import Inference, Result

op = Operator("SequenceEmpty")
DTYPES = {int(d) for d in DataType} - {int(DataType.UNDEFINED)}


@op.infer(11)
def infer(t: Inference) -> Result:
    dtype = t.integer("dtype", DataType.FLOAT)
    if dtype not in DTYPES:
        t.fail(f"{dtype} is not the number of an element type")
    return SequenceType(TensorType(DataType.numbered(dtype)))


@op.eval(11)
def evaluate(*, dtype: int = DataType.FLOAT) -> list[RuntimeValue]:
    """An empty list, whatever `dtype`, which is the number of the element type of the sequence's tensors."""
    if dtype not in DTYPES:
        raise EvaluationError(f"dtype {dtype} is not the number of an element type")
    return []
