"""A model with a prime in the place of a size, so that what follows from the size shows.

The prime is larger than every size in the model.  A size that it divides is a multiple of the one in question, and a
constant that holds the old one contradicts what is inferred.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from sardonyx._src.errors import InferenceError
from sardonyx._src.infer.walk import infer
from sardonyx._src.ir.clone import clone
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.graph import Model, Value
from sardonyx._src.ir.types import OptionalType, SequenceType, Shape, SparseTensorType, TensorType, Type
from sardonyx._src.ir.walk import graphs, roots, values
from sardonyx._src.rewrite.tools.calls import called, main_graphs
from sardonyx._src.rewrite.tools.reach import reads
from sardonyx._src.rewrite.tools.set_dims.requests import Change

PRIMES = (65537, 262147, 1048583, 4194319)


class Probe:
    """The model, in which the changed axes have the prime; what was inferred before, and what is inferred now."""

    def __init__(self, model: Model, changes: Sequence[Change]) -> None:
        self.model = model
        self.changes = changes
        self.old = changes[0].old
        before = clone(model)
        infer(before, errors=[])  # a model that contradicts itself is told when the new sizes are checked
        twins = zip(all_values(model), all_values(before), strict=True)
        self.before: dict[Value, Type | None] = {value: twin.type for value, twin in twins}
        self.prime = unlike(self.before.values())
        self.reached = loosen(model, [change.value for change in changes])
        for change in changes:
            put_dim(change.value, change.axis, self.prime)
        self.declared = {value: value.type for value in all_values(model)}

    def infer(self) -> list[InferenceError]:
        """Infers all types anew; hands out the contradictions."""
        self.reset()
        errors: list[InferenceError] = []
        infer(self.model, errors=errors)
        return errors

    def reset(self) -> None:
        """Gives every value the type that is declared of it."""
        for value in all_values(self.model):
            if value.initializer is None or value in self.declared:  # new constants know their types
                value.type = self.declared.get(value)

    def finish(self) -> None:
        """Puts the new sizes in the place of the prime, and forgets what was inferred from it."""
        self.reset()
        for change in self.changes:
            put_dim(change.value, change.axis, change.new)

    def follows(self, dim: Dim) -> bool:
        """Whether a size is a multiple of the one in question."""
        return isinstance(dim, int) and dim > 0 and dim % self.prime == 0

    def multiple(self, dim: Dim) -> int:
        """What a size becomes of which the old one is a factor."""
        assert isinstance(dim, int), "only numbers hold the old size"
        return dim // self.old * self.prime if self.old else self.prime

    def shape(self, value: Value | None) -> Shape | None:
        """The shape of a tensor, with the prime in it."""
        found = value.type if value is not None else None
        return found.shape if isinstance(found, TensorType) else None

    def old_shape(self, value: Value | None) -> Shape | None:
        """The shape of a tensor before."""
        found = self.before.get(value) if value is not None else None
        return found.shape if isinstance(found, TensorType) else None


def all_values(model: Model) -> Iterator[Value]:
    for root in roots(model):
        for graph in graphs(root):
            yield from values(graph)


def unlike(types: Iterable[Type | None]) -> int:
    """A prime that divides no size."""
    sizes = {d for t in types if isinstance(t, TensorType) for d in t.shape or () if isinstance(d, int) and d}
    found = next((p for p in PRIMES if p > 2 * max(sizes, default=1)), PRIMES[-1])
    return found if all(size % found for size in sizes) else next(p for p in PRIMES if p not in sizes)


def put_dim(value: Value, axis: int, dim: Dim) -> None:
    found = value.type
    assert isinstance(found, TensorType) and found.shape is not None, f"{value!r} has axis {axis}"
    value.type = replace(found, shape=(*found.shape[:axis], dim, *found.shape[axis + 1 :]))


def loosen(model: Model, origins: Iterable[Value]) -> set[Value]:
    """Takes the numbers from the declared sizes of all that is computed from some values; names stay.

    Hands out those values, the origins among them.
    """
    first = set(origins)
    reached = set(first)
    for root in main_graphs(model):
        for node in root.nodes:
            if any(value in reached for value in reads(node)):
                reached.update(node.outputs)
                for inner in (g for sub in node.subgraphs for g in graphs(sub)):
                    reached.update(v for v in values(inner) if v.initializer is None)
    for function in called(model):  # whose bodies may be entered with other sizes now
        reached.update(v for graph in graphs(function.body) for v in values(graph))
    for value in reached - first:
        value.type = loose(value.type)
    return reached


def loose(type: Type | None) -> Type | None:
    match type:
        case TensorType() | SparseTensorType() if type.shape is not None:
            return replace(type, shape=tuple(None if isinstance(d, int) else d for d in type.shape))
        case SequenceType() | OptionalType():
            return replace(type, elem=loose(type.elem))
    return type
