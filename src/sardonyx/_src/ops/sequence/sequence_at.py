"""SequenceAt: one element of a sequence.

Spec: ai.onnx SequenceAt-11.
"""

from __future__ import annotations

from sardonyx._src.ir import Array
from sardonyx._src.ops.api import Operator
from sardonyx._src.ops.control.joins import name_dims
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.sequence.positions import position_of, sequence_element

op = Operator("SequenceAt", parameters=(1,))


@op.infer(11)
def infer(inference: Inference) -> Result:
    return name_dims(inference, sequence_element(inference, 0))


@op.eval(11)
def evaluate(input_sequence: list[Array], position: Array) -> Array:
    """position: one integer, which counts from the back when negative."""
    return input_sequence[position_of(position, len(input_sequence))]
