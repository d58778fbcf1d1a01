"""SequenceInsert: a sequence with a tensor inserted.

Spec: ai.onnx SequenceInsert-11.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import SequenceType
from sardonyx._src.ops.api import Operator, RuntimeValue
from sardonyx._src.ops.control.joins import join
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.sequence.owned_sequence import OwnedSequence
from sardonyx._src.ops.sequence.positions import check_same_element_type, position_of, sequence_element

op = Operator("SequenceInsert")


@op.infer(11)
def infer(inference: Inference) -> Result:
    return SequenceType(
        join(
            inference, sequence_element(inference, 0), inference.tensor(1), "the element type of the sequence"
        )
    )


@op.eval(11)
def evaluate(input_sequence: list[Array], tensor: Array, position: Array | None = None) -> list[RuntimeValue]:
    """position: one integer from -n to n, before which the tensor is inserted; appended by default."""
    check_same_element_type([*input_sequence[:1], tensor])
    count = len(input_sequence)
    index = count if position is None else insertion(position, count)
    return [*input_sequence[:index], tensor, *input_sequence[index:]]


def insert_in_place(owned: OwnedSequence, tensor: Array, position: Array | None = None) -> OwnedSequence:
    """`evaluate` for a sequence that becomes the result."""
    first = owned[0] if owned else None
    if not (isinstance(first, np.ndarray) and isinstance(tensor, np.ndarray) and tensor.dtype is first.dtype):
        check_same_element_type([*owned[:1], tensor])
    count = len(owned)
    owned.insert_element(count if position is None else insertion(position, count), tensor)
    return owned


def insertion(position: Array, count: int) -> int:
    """The number of elements before the new one; n itself is allowed, which appends."""
    if position.size == 1 and position.item() == count:
        return count
    return position_of(position, count)
