"""SequenceConstruct: a sequence of the inputs.

Spec: ai.onnx SequenceConstruct-11.
"""

from __future__ import annotations

from sardonyx._src.ir import Array, SequenceType, Type
from sardonyx._src.ops.api import Operator, RuntimeValue
from sardonyx._src.ops.control.joins import join
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.sequence.positions import check_same_element_type

op = Operator("SequenceConstruct")


@op.infer(11)
def infer(inference: Inference) -> Result:
    elem: Type | None = inference.tensor(0)
    for i in range(1, len(inference.inputs)):
        elem = join(inference, elem, inference.tensor(i), "the inputs' type")
    return SequenceType(elem)


@op.eval(11)
def evaluate(*inputs: Array) -> list[RuntimeValue]:
    check_same_element_type(inputs)
    return list(inputs)
