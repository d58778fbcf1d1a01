"""SequenceInsert: a sequence with one element more.

Spec: ai.onnx SequenceInsert-11.
"""

from __future__ import annotations

from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import SequenceType
from sardonyx._src.ops.api import Operator, RuntimeValue
from sardonyx._src.ops.control.joins import join
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.sequence.positions import position_of, same_elements, sequence_element

op = Operator("SequenceInsert")


@op.infer(11)
def infer(t: Inference) -> Result:
    return SequenceType(join(t, sequence_element(t, 0), t.tensor(1), "the element type of the sequence"))


@op.eval(11)
def evaluate(input_sequence: list[Array], tensor: Array, position: Array | None = None) -> list[RuntimeValue]:
    """position: one integer from -n to n, before whose element the tensor is put; at the end where it is left out."""
    same_elements([*input_sequence[:1], tensor])
    count = len(input_sequence)
    at = count if position is None else insertion(position, count)
    return [*input_sequence[:at], tensor, *input_sequence[at:]]


def insertion(position: Array, count: int) -> int:
    """The number of elements before the new one.  Unlike a list's places, n itself is allowed: behind the last one."""
    if position.size == 1 and position.item() == count:
        return count
    return position_of(position, count)
