"""Elements of small tensors that are known before a model runs, as numbers or as expressions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import ExternalDataError
from sardonyx._src.ir.graph import Value
from sardonyx._src.ir.tensors import Tensor
from sardonyx._src.ir.types import TensorType, Type
from sardonyx._src.ops.bind import literal_of
from sardonyx._src.ops.inference import Known

DEPTH = 16  # of what waits for what waits, each on Python's stack
MOST = 4096  # elements; what is larger computes no shape
AXES = 32
INT = frozenset((int,))


class Pending:
    """The elements of a node's outputs, worked out when somebody asks."""

    __slots__ = ("compute", "depth", "outputs")

    def __init__(
        self, outputs: Sequence[Value], compute: Callable[[], Sequence[Known | None]], depth: int
    ) -> None:
        self.outputs = outputs
        self.compute = compute
        self.depth = depth  # how many others may have to be worked out, one inside the other


class Elements:
    """What is known of each value's elements, as far as anybody asked: most of what a model computes is no shape."""

    __slots__ = ("found", "has_literals", "read")

    def __init__(self, *, has_literals: bool = True) -> None:
        """has_literals: nodes called Constant are the operator's, and hand out the tensors that they hold."""
        self.found: dict[Value, Known | Tensor | Pending] = {}
        self.read: dict[Tensor, Known | None] = {}
        self.has_literals = has_literals

    def put(self, value: Value, found: Known | Tensor | None) -> None:
        if found is None:
            self.found.pop(value, None)
        else:
            self.found[value] = found

    def put_later(
        self,
        outputs: Sequence[Value],
        inputs: Sequence[Value | None],
        compute: Callable[[], Sequence[Known | None]],
        *,
        needs_all: bool,
    ) -> None:
        """Elements of a node's outputs that `compute` finds from those of its inputs.

        needs_all: it finds none where an input is known of nothing.
        """
        depth = 1
        for value in inputs:
            if value is not None:
                found = self.stored(value)
                if found is None and needs_all:
                    return
                if type(found) is Pending and found.depth >= depth:
                    depth = found.depth + 1
        pending = Pending(outputs, compute, depth)
        for value in outputs:
            self.found[value] = pending
        if depth > DEPTH:
            self.settle(pending)

    def forget(self, values: Iterable[Value]) -> None:
        for value in values:
            self.found.pop(value, None)

    def get(self, value: Value | None) -> Known | None:
        if value is None:
            return None
        found = self.stored(value)
        if isinstance(found, Pending):
            self.settle(found)
            found = self.stored(value)
        if isinstance(found, Tensor):
            if found not in self.read:
                self.read[found] = constant(found)
            return self.read[found]
        assert not isinstance(found, Pending), f"{value!r} waits for itself"
        return found

    def stored(self, value: Value) -> Known | Tensor | Pending | None:
        """What is known as it stands: a tensor is not read."""
        found = self.found.get(value)
        if found is None and self.has_literals and value.producer is not None:
            return literal_of(value.producer)
        return found

    def settle(self, pending: Pending) -> None:
        found = pending.compute()
        for i, value in enumerate(pending.outputs):
            self.put(value, found[i] if i < len(found) else None)


def constant(tensor: Tensor) -> Known | None:
    """The elements of a small tensor of numbers; None for others, and for external data that are not at hand."""
    if tensor.size > MOST or tensor.dtype is DataType.STRING:
        return None
    try:
        return tensor.numpy()
    except ExternalDataError:
        return None


def is_small(found: Type | None) -> bool:
    """Whether a type is known to hold few elements, along no more axes than any NumPy has."""
    if not isinstance(found, TensorType) or found.shape is None or len(found.shape) > AXES:
        return False
    return INT.issuperset(map(type, found.shape)) and math.prod(found.shape) <= MOST  # type: ignore[arg-type]


def may_be_small(found: Type | None) -> bool:
    """Whether values of that type may be tensors of which elements are known: a size is, if all of its dims are."""
    if isinstance(found, TensorType):
        return found.shape is None or is_small(found)
    return found is None


def numbers(found: Known, wanted: Type | None) -> Known:
    """Known elements as an array of the element type when all of them are numbers."""
    if found.dtype != np.object_ or not isinstance(wanted, TensorType):
        return found
    plain = found.reshape(-1).tolist()
    if not all(isinstance(e, int | float) for e in plain):
        return found
    try:
        return found.astype(wanted.dtype.numpy)
    except OverflowError:
        return found
