"""SequenceErase: a sequence with one element removed.

Spec: ai.onnx SequenceErase-11.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Array, SequenceType
from sardonyx._src.ops.api import Operator, RuntimeValue, as_run_sequence
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.persistent_sequence import PersistentSequence
from sardonyx._src.ops.sequence.positions import position_of, sequence_element

op = Operator("SequenceErase", parameters=(1,))


@op.infer(11)
def infer(inference: Inference) -> Result:
    return SequenceType(sequence_element(inference, 0))


@op.eval(11)
def evaluate(
    input_sequence: list[RuntimeValue] | PersistentSequence, position: Array | None = None
) -> RuntimeValue:
    """position: one integer, which counts from the back when negative; the last element by default."""
    index = erasure(position, len(input_sequence))
    sequence = as_run_sequence(input_sequence)
    if isinstance(sequence, PersistentSequence):
        return sequence.without_element(index)
    return [*sequence[:index], *sequence[index + 1 :]]


def erasure(position: Array | None, count: int) -> int:
    """The number of elements before the one to remove."""
    return position_of(np.array(-1) if position is None else position, count)
