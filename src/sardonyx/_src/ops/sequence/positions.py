"""Support for sequence operators: positions and element types."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir import Array, SequenceType, Type
from sardonyx._src.ops.api import RuntimeValue
from sardonyx._src.ops.inference import Inference


def position_of(position: Array, count: int, what: str = "position") -> int:
    """A position counted from the front; raises EvaluationError if it is out of range for `count` elements."""
    if position.size != 1:
        raise EvaluationError(f"{what} must have one element; got shape {list(position.shape)}")
    index = int(position.item())
    if not -count <= index < count:
        raise EvaluationError(f"{what} {index} lies outside of {-count} to {count - 1}")
    return index % count


def check_same_element_type(values: Sequence[RuntimeValue]) -> None:
    """Raises EvaluationError if the elements of a sequence are no tensors, or have different element types."""
    tensors = [value for value in values if isinstance(value, np.ndarray)]
    if len(tensors) < len(values):
        raise EvaluationError("the elements of the sequence must be tensors; got others")
    kinds = {DataType.of(x.dtype).text for x in tensors}
    if len(kinds) > 1:
        raise EvaluationError(
            f"the tensors of a sequence must have one element type; got {', '.join(sorted(kinds))}"
        )


def sequence_element(inference: Inference, i: int) -> Type | None:
    """The element type of input i; raises InferenceError if the input is not a sequence."""
    type = inference.type(i)
    if type is not None and not isinstance(type, SequenceType):
        inference.fail(f"input {i} must be a sequence; got {type}")
    return None if type is None else type.elem
