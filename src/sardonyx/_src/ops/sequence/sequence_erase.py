"""SequenceErase: a sequence with one element less.

Spec: ai.onnx SequenceErase-11.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import SequenceType
from sardonyx._src.ops.api import Operator, RuntimeValue
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.sequence.positions import position_of, sequence_element

op = Operator("SequenceErase")


@op.infer(11)
def infer(t: Inference) -> Result:
    return SequenceType(sequence_element(t, 0))


@op.eval(11)
def evaluate(input_sequence: list[Array], position: Array | None = None) -> list[RuntimeValue]:
    """position: one integer, which counts from the back when negative; the last element where it is left out."""
    at = position_of(np.array(-1) if position is None else position, len(input_sequence))
    return [*input_sequence[:at], *input_sequence[at + 1 :]]
