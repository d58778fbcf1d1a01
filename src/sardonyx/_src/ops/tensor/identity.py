"""Identity: a copy of its input.

Spec: ai.onnx Identity-1, -13, -14, -16, -19, -21, -23, -24, -25.  14 adds sequences, 16 optionals, the others element
types.
"""

from __future__ import annotations

from sardonyx._src.ops.api import Operator, RuntimeValue
from sardonyx._src.ops.inference import Inference, Known
from sardonyx._src.ops.support.shapes import same_type

op = Operator("Identity", elementwise=True, moves_data=True)
IDENTITY_VERSIONS = (1, 13, 14, 16, 19, 21, 23, 24, 25)
op.infer(*IDENTITY_VERSIONS)(same_type)


@op.value(*IDENTITY_VERSIONS)
def value(inference: Inference) -> Known | None:
    return inference.value(0)


@op.eval(*IDENTITY_VERSIONS)
def evaluate(input: RuntimeValue) -> RuntimeValue:
    return input
