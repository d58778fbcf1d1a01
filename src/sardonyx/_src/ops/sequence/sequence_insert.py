"""SequenceInsert: a sequence with a tensor inserted.

Spec: ai.onnx SequenceInsert-11.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir import Array, SequenceType
from sardonyx._src.ops.api import Operator, RuntimeValue, as_run_sequence
from sardonyx._src.ops.control.joins import join
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.persistent_sequence import PersistentSequence
from sardonyx._src.ops.sequence.positions import check_same_element_type, position_of, sequence_element

op = Operator("SequenceInsert", parameters=(2,))


@op.infer(11)
def infer(inference: Inference) -> Result:
    return SequenceType(
        join(
            inference, sequence_element(inference, 0), inference.tensor(1), "the element type of the sequence"
        )
    )


@op.eval(11)
def evaluate(
    input_sequence: list[RuntimeValue] | PersistentSequence, tensor: Array, position: Array | None = None
) -> RuntimeValue:
    """position: one integer from -n to n, before which the tensor is inserted; appended by default."""
    count = len(input_sequence)
    if type(input_sequence) is PersistentSequence and position is None and input_sequence.has_type_of(tensor):
        return input_sequence.with_element(count, tensor)
    first = input_sequence[0] if count else tensor
    if not (type(first) is type(tensor) is np.ndarray and first.dtype is tensor.dtype):
        check_same_element_type([first, tensor])
    index = count if position is None else insertion(position, count)
    sequence = as_run_sequence(input_sequence)
    if isinstance(sequence, PersistentSequence):
        return sequence.with_element(index, tensor)
    return [*sequence[:index], tensor, *sequence[index:]]


def insertion(position: Array, count: int) -> int:
    """The number of elements before the new one; n itself is allowed, which appends."""
    if position.size == 1 and position.item() == count:
        return count
    return position_of(position, count)
