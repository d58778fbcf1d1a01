"""Elements of small tensors that are known before a model runs, as numbers or as expressions."""

from __future__ import annotations

import numpy as np

from sardonyx.dtypes import DataType
from sardonyx.errors import ExternalDataError
from sardonyx.ir.graph import Value
from sardonyx.ir.tensors import Tensor
from sardonyx.ir.types import TensorType, Type
from sardonyx.ops.inference import Known

MOST = 4096  # elements; what is larger computes no shape


class Elements:
    """What is known of each value's elements; a tensor that the model holds is decoded when somebody asks."""

    __slots__ = ("found",)

    def __init__(self) -> None:
        self.found: dict[Value, Known | Tensor] = {}

    def put(self, value: Value, found: Known | Tensor | None) -> None:
        if found is None:
            self.found.pop(value, None)
        else:
            self.found[value] = found

    def get(self, value: Value | None) -> Known | None:
        if value is None:
            return None
        found = self.found.get(value)
        if isinstance(found, Tensor):
            found = constant(found)
            self.put(value, found)
        return found


def constant(tensor: Tensor) -> Known | None:
    """The elements of a small tensor of numbers; None for others, and for external data that are not at hand."""
    if tensor.size > MOST or tensor.dtype is DataType.STRING:
        return None
    try:
        return tensor.numpy()
    except ExternalDataError:
        return None


def is_small(type: Type | None) -> bool:
    """Whether a type is known to hold few elements."""
    if not isinstance(type, TensorType) or type.shape is None:
        return False
    count = 1
    for dim in type.shape:
        if not isinstance(dim, int):
            return False
        count *= dim
    return count <= MOST


def may_be_small(type: Type | None) -> bool:
    """Whether values of that type may be tensors of which elements are known: a size is, if all of its dims are."""
    if isinstance(type, TensorType):
        return type.shape is None or is_small(type)
    return type is None


def numbers(found: Known, type: Type | None) -> Known:
    """Known elements as an array of the element type when all of them are numbers."""
    if found.dtype != np.object_ or not isinstance(type, TensorType):
        return found
    plain = found.reshape(-1).tolist()
    if not all(isinstance(e, int | float) for e in plain):
        return found
    try:
        return found.astype(type.dtype.numpy)
    except OverflowError:
        return found
