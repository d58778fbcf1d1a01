"""ConcatFromSequence: the tensors of a sequence concatenated along an axis, or stacked along a new one.

Spec: ai.onnx ConcatFromSequence-11.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, TensorType
from sardonyx._src.ops.api import Operator, RunContext, check_result_bytes
from sardonyx._src.ops.control.joins import name_dims
from sardonyx._src.ops.inference import Inference, Result
from sardonyx._src.ops.persistent_sequence import PersistentSequence
from sardonyx._src.ops.sequence.positions import check_same_element_type, sequence_element
from sardonyx._src.ops.support.shapes import axis_of

op = Operator("ConcatFromSequence")


@op.infer(11)
def infer(inference: Inference) -> Result:
    elem = sequence_element(inference, 0)
    if not isinstance(elem, TensorType) or elem.shape is None:
        return elem
    new_axis = bool(inference.integer("new_axis"))
    axis = inference.axis(inference.integer("axis"), len(elem.shape) + new_axis)
    shape = (*elem.shape[:axis], None, *elem.shape[axis + (not new_axis) :])
    return name_dims(inference, TensorType(elem.dtype, shape))


@op.eval(11)
def evaluate(
    input_sequence: list[Array] | PersistentSequence, *, axis: int, new_axis: int, context: RunContext
) -> Array:
    """The tensors have the same shape, except that with `new_axis` 0 their sizes along `axis` may differ."""
    tensors = cast(list[Array], list(input_sequence))
    if not tensors:
        raise EvaluationError("the sequence must have at least one tensor; got an empty one")
    check_same_element_type(tensors)
    first = tensors[0]
    position = axis_of(axis, first.ndim + (1 if new_axis else 0))
    check_result_bytes(context, (sum(x.size for x in tensors),), first.dtype, "ConcatFromSequence result")
    return np.stack(tensors, position) if new_axis else np.concatenate(tensors, position)
