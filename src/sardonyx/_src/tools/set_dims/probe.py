"""A model in which a prime stands for the new size, so that inference reveals which dims depend on it.

The prime is larger than every size in the model if possible.  A dim that the prime divides is a multiple of the changed size,
and a constant that still holds the old size contradicts inference.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.walk import infer_partially
from sardonyx._src.ir import (
    Model,
    OptionalType,
    SequenceType,
    Shape,
    SparseTensorType,
    TensorType,
    Type,
    Value,
)
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.model import clone
from sardonyx._src.ir.walk import graphs, roots, values
from sardonyx._src.tools.calls import main_graphs, reachable_functions
from sardonyx._src.tools.reachability import operands_of
from sardonyx._src.tools.set_dims.requests import AxisChange

PRIMES = (65537, 262147, 1048583, 4194319)  # the first primes above 2**16, 2**18, 2**20 and 2**22


class Probe:
    """A model whose changed axes have the prime as length, with the types inferred before and after the change."""

    def __init__(self, model: Model, changes: Sequence[AxisChange]) -> None:
        self.model = model
        self.changes = changes
        self.old = changes[0].old
        before = clone(model)
        infer_partially(before)  # inconsistent models are reported when the new sizes are checked
        twins = zip(all_values(model), all_values(before), strict=True)
        self.before: dict[Value, Type | None] = {value: twin.type for value, twin in twins}
        self.prime = unused_prime(self.before.values())
        self.reached = drop_inferred_dims(model, [change.value for change in changes])
        for change in changes:
            set_dim(change.value, change.axis, self.prime)
        self.declared = {value: value.type for value in all_values(model)}

    def infer(self) -> Sequence[InferenceError]:
        """Infer all types again; returns the errors."""
        self.reset()
        return infer_partially(self.model).errors

    def reset(self) -> None:
        """Reset every value to its declared type."""
        for value in all_values(self.model):
            if (
                value.initializer is None or value in self.declared
            ):  # constants that repairs added keep their types
                value.type = self.declared.get(value)

    def replace_prime(self) -> None:
        """Replace the prime by the new size, and drop the types inferred from it."""
        self.reset()
        for change in self.changes:
            set_dim(change.value, change.axis, change.new)

    def is_multiple(self, dim: Dim) -> bool:
        """Whether a dim is a multiple of the prime."""
        return isinstance(dim, int) and dim > 0 and dim % self.prime == 0

    def multiple(self, dim: Dim) -> int:
        """A multiple of the old size as the same multiple of the prime."""
        assert isinstance(dim, int), "a multiple of the old size is a number"
        return dim // self.old * self.prime if self.old else self.prime

    def shape(self, value: Value | None) -> Shape | None:
        """The shape of a tensor after the change."""
        type = value.type if value is not None else None
        return type.shape if isinstance(type, TensorType) else None

    def old_shape(self, value: Value | None) -> Shape | None:
        """The shape of a tensor before the change."""
        type = self.before.get(value) if value is not None else None
        return type.shape if isinstance(type, TensorType) else None


def all_values(model: Model) -> Iterator[Value]:
    for root in roots(model):
        for graph in graphs(root):
            yield from values(graph)


def unused_prime(types: Iterable[Type | None]) -> int:
    """A prime that stands for the new size.

    It is more than twice as large as every dim if possible; else it divides no dim or, at worst, equals none.
    """
    sizes = {d for t in types if isinstance(t, TensorType) for d in t.shape or () if isinstance(d, int) and d}
    prime = next((p for p in PRIMES if p > 2 * max(sizes, default=1)), PRIMES[-1])
    return prime if all(size % prime for size in sizes) else next(p for p in PRIMES if p not in sizes)


def set_dim(value: Value, axis: int, dim: Dim) -> None:
    type = value.type
    assert isinstance(type, TensorType) and type.shape is not None, f"{value!r} has axis {axis}"
    value.type = replace(type, shape=(*type.shape[:axis], dim, *type.shape[axis + 1 :]))


def drop_inferred_dims(model: Model, origins: Iterable[Value]) -> set[Value]:
    """Drop static dims from the declared types of all values that are computed from `origins`; symbolic dims stay.

    Returns these values and the origins.
    """
    origins_set = set(origins)
    reached = set(origins_set)
    for root in main_graphs(model):
        for node in root.nodes:
            if any(value in reached for value in operands_of(node)):
                reached.update(node.outputs)
                for inner in (g for sub in node.subgraphs for g in graphs(sub)):
                    reached.update(v for v in values(inner) if v.initializer is None)
    for function in reachable_functions(model):  # calls may pass other sizes than before
        reached.update(v for graph in graphs(function.body) for v in values(graph))
    for value in reached - origins_set:
        value.type = drop_static_dims(value.type)
    return reached


def drop_static_dims(type: Type | None) -> Type | None:
    match type:
        case TensorType() | SparseTensorType() if type.shape is not None:
            return replace(type, shape=tuple(None if isinstance(d, int) else d for d in type.shape))
        case SequenceType() | OptionalType():
            return replace(type, elem=drop_static_dims(type.elem))
    return type
