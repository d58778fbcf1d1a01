"""Known elements: elements of small tensors that are known before a model runs, as numbers or as symbolic expressions.

They are an array of numbers, or an object array of int, Expr (symbolic) and None (this element is not known).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import ExternalDataError
from sardonyx._src.ir import Tensor, TensorType, Type, Value
from sardonyx._src.ops.bind import literal_of
from sardonyx._src.ops.inference import Known
from sardonyx._src.ops.tensor.elements import MAX_KNOWN_ELEMENTS

MAX_LAZY_DEPTH = 16  # longest chain of lazy elements: each one calls the next, and uses Python's stack
MAX_AXES = 32  # the number of axes that every NumPy version allows
INT = frozenset((int,))


class LazyElements:
    """The elements of a node's outputs, computed at first use."""

    __slots__ = ("compute", "depth", "outputs")

    def __init__(
        self, outputs: Sequence[Value], compute: Callable[[], Sequence[Known | None]], depth: int
    ) -> None:
        self.outputs = outputs
        self.compute = compute
        self.depth = depth  # length of the longest chain of lazy elements that ends in this one


class Elements:
    """Known elements by value, computed on demand, since inference needs few of them: most values are not used as shapes.

    entries: the elements of a value, or the small tensor or the lazy elements that contain them.  Large tensors are left out:
        lazy elements refer to their scope, so that all entries would stay in memory until the next garbage collection.
    decoded: the elements of tensors that were requested.
    """

    __slots__ = ("decoded", "entries", "has_literals")

    def __init__(self, *, has_literals: bool = True) -> None:
        """has_literals: whether nodes named Constant are ONNX's operator, whose results are known, and no function's."""
        self.entries: dict[Value, Known | Tensor | LazyElements] = {}
        self.decoded: dict[Tensor, Known | None] = {}
        self.has_literals = has_literals

    def put(self, value: Value, entry: Known | Tensor | None) -> None:
        """Stores elements; None removes them, and so does a tensor that is too large for elements to be known."""
        if entry is None or (isinstance(entry, Tensor) and entry.size > MAX_KNOWN_ELEMENTS):
            self.entries.pop(value, None)
        else:
            self.entries[value] = entry

    def put_lazy(
        self,
        outputs: Sequence[Value],
        inputs: Sequence[Value | None],
        compute: Callable[[], Sequence[Known | None]],
        *,
        needs_all: bool,
    ) -> None:
        """Stores elements of a node's outputs that `compute` derives from known elements of its inputs at first use.

        needs_all: whether `compute` derives nothing if the elements of an input are not known at all.
        """
        depth = 1
        for value in inputs:
            if value is not None:
                entry = self.peek(value)
                if entry is None and needs_all:
                    return
                if type(entry) is LazyElements and entry.depth >= depth:
                    depth = entry.depth + 1
        lazy = LazyElements(outputs, compute, depth)
        for value in outputs:
            self.entries[value] = lazy
        if depth > MAX_LAZY_DEPTH:
            self.materialize(lazy)

    def forget(self, values: Iterable[Value]) -> None:
        for value in values:
            self.entries.pop(value, None)

    def get(self, value: Value | None) -> Known | None:
        """The known elements of a value, computed now if they are lazy."""
        if value is None:
            return None
        entry = self.peek(value)
        if isinstance(entry, LazyElements):
            self.materialize(entry)
            entry = self.peek(value)
        if isinstance(entry, Tensor):
            if entry not in self.decoded:
                self.decoded[entry] = decode_small(entry)
            return self.decoded[entry]
        assert not isinstance(entry, LazyElements), f"the elements of {value!r} depend on themselves"
        return entry

    def peek(self, value: Value) -> Known | Tensor | LazyElements | None:
        """The entry of a value as it is stored: lazy elements are not computed, and tensors not decoded."""
        entry = self.entries.get(value)
        if entry is None and self.has_literals and value.producer is not None:
            return literal_of(value.producer)
        return entry

    def materialize(self, lazy: LazyElements) -> None:
        known = lazy.compute()
        for i, value in enumerate(lazy.outputs):
            self.put(value, known[i] if i < len(known) else None)


def decode_small(tensor: Tensor) -> Known | None:
    """The elements of a small tensor of numbers; None for another tensor, and if its external data are missing."""
    if tensor.size > MAX_KNOWN_ELEMENTS or tensor.dtype is DataType.STRING:
        return None
    try:
        return tensor.numpy()
    except ExternalDataError:
        return None


def is_small(type_: Type | None) -> bool:
    """Whether tensors of a type have at most MAX_KNOWN_ELEMENTS elements, and at most MAX_AXES axes."""
    if not isinstance(type_, TensorType) or type_.shape is None or len(type_.shape) > MAX_AXES:
        return False
    # mypy does not see that the first operand admits integers only.
    return INT.issuperset(map(type, type_.shape)) and math.prod(type_.shape) <= MAX_KNOWN_ELEMENTS  # type: ignore[arg-type]


def may_be_small(type_: Type | None) -> bool:
    """Whether values of a type may be tensors with known elements; never if a length is symbolic."""
    if isinstance(type_, TensorType):
        return type_.shape is None or is_small(type_)
    return type_ is None


def as_numbers(known: Known, type_: Type | None) -> Known:
    """Known elements as an array of the type's element type, if all of them are numbers."""
    if known.dtype != np.object_ or not isinstance(type_, TensorType):
        return known
    plain = known.reshape(-1).tolist()
    if not all(isinstance(e, int | float) for e in plain):
        return known
    try:
        return known.astype(type_.dtype.numpy)
    except OverflowError:
        return known
