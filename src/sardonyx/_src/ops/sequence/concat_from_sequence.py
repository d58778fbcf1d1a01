"""ConcatFromSequence: the tensors of a sequence put together along an axis of theirs or along a new one.

Spec: ai.onnx ConcatFromSequence-11.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ops.api import Call, Operator, claim
from sardonyx._src.ops.control.joins import named_dims
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.sequence.positions import same_elements, sequence_element
from sardonyx._src.ops.shapes import axis_of

op = Operator("ConcatFromSequence")


@op.infer(11)
def infer(t: Inference) -> Result:
    elem = sequence_element(t, 0)
    if not isinstance(elem, TensorType) or elem.shape is None:
        return elem
    new_axis = bool(t.integer("new_axis"))
    axis = t.axis(t.integer("axis"), len(elem.shape) + new_axis)
    shape = (*elem.shape[:axis], None, *elem.shape[axis + (not new_axis) :])
    return named_dims(t, TensorType(elem.dtype, shape))


@op.eval(11)
def evaluate(input_sequence: list[Array], *, axis: int, new_axis: int, call: Call) -> Array:
    """The tensors have the same shape, but for their size along `axis` where `new_axis` is 0."""
    if not input_sequence:
        raise EvaluationError("the sequence is empty; one tensor at least is wanted")
    same_elements(input_sequence)
    first = input_sequence[0]
    at = axis_of(axis, first.ndim + (1 if new_axis else 0))
    claim(call, (sum(x.size for x in input_sequence),), first.dtype, "ConcatFromSequence result")
    return np.stack(input_sequence, at) if new_axis else np.concatenate(input_sequence, at)
