"""SequenceErase: a sequence with one element removed.

Spec: ai.onnx SequenceErase-11.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import SequenceType
from sardonyx._src.ops.api import Operator, RuntimeValue
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.sequence.owned_sequence import OwnedSequence
from sardonyx._src.ops.sequence.positions import position_of, sequence_element

op = Operator("SequenceErase")


@op.infer(11)
def infer(inference: Inference) -> Result:
    return SequenceType(sequence_element(inference, 0))


@op.eval(11)
def evaluate(input_sequence: list[Array], position: Array | None = None) -> list[RuntimeValue]:
    """position: one integer, which counts from the back when negative; the last element by default."""
    index = erasure(position, len(input_sequence))
    return [*input_sequence[:index], *input_sequence[index + 1 :]]


def erase_in_place(owned: OwnedSequence, position: Array | None = None) -> OwnedSequence:
    """`evaluate` for a sequence that becomes the result."""
    owned.erase_element(erasure(position, len(owned)))
    return owned


def erasure(position: Array | None, count: int) -> int:
    """The number of elements before the one to remove."""
    return position_of(np.array(-1) if position is None else position, count)
