"""Sequences: what their operators share."""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import EvaluationError
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import SequenceType, Type
from sardonyx._src.ops.inference import Inference


def position_of(position: Array, count: int, what: str = "position") -> int:
    """A position counted from the front; raises EvaluationError when it is none of `count` ones."""
    if position.size != 1:
        raise EvaluationError(f"{what} is of shape {list(position.shape)}; one element is wanted")
    found = int(position.item())
    if not -count <= found < count:
        raise EvaluationError(f"{what} {found} lies outside of {-count} to {count - 1}")
    return found % count


def same_elements(tensors: Sequence[Array]) -> None:
    """Raises EvaluationError when the tensors of one sequence are not of one element type."""
    kinds = {DataType.of(x.dtype).text for x in tensors}
    if len(kinds) > 1:
        raise EvaluationError(
            f"the tensors of a sequence are of element types {', '.join(sorted(kinds))}; one is wanted"
        )


def sequence_element(t: Inference, i: int) -> Type | None:
    """The element type of input i; raises InferenceError when the input is no sequence."""
    found = t.type(i)
    if found is not None and not isinstance(found, SequenceType):
        t.fail(f"input {i} is {found}, not a sequence")
    return None if found is None else found.elem
