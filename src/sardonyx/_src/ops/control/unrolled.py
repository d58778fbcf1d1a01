"""The iterations of a Loop or Scan one by one, where it is known before a run how many there are, and they are few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

import numpy as np

from sardonyx._src.ir.dims import Dim
from sardonyx._src.ir.graph import Graph
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ir.types import TensorType, Type
from sardonyx._src.ops.control.bodies import head_shapes, head_types
from sardonyx._src.ops.control.joins import join
from sardonyx._src.ops.inference import Inference, Iteration, Known

MOST = 4096  # elements of a scan output; what is larger computes no shape


@dataclass(slots=True)
class Unrolled:
    """What all iterations gave: the carried values behind the last one, and what each yielded."""

    types: list[Type | None]
    known: list[Known | None]
    yielded: list[Iteration] = field(default_factory=list)  # without the condition and the carried values

    @property
    def count(self) -> int:
        return len(self.yielded)

    def add(self, step: Iteration, first: int) -> None:
        """Takes what the next iteration gave; the carried values begin at output `first` of the body."""
        count = first + len(self.types)
        self.types, self.known = list(step.types[first:count]), list(step.known[first:count])
        self.yielded.append(Iteration(step.types[count:], step.known[count:]))

    def element_types(self, t: Inference) -> list[Type | None]:
        """For each scan output the type that holds every element; there was an iteration."""
        columns = zip(*(one.types for one in self.yielded), strict=True)
        return [reduce(lambda a, b: join(t, a, b, "a scan output"), column) for column in columns]

    def stacked(self) -> list[Known | None]:
        """What is known of the elements of each scan output; nothing without any iteration."""
        columns = zip(*(zip(one.types, one.known, strict=True) for one in self.yielded), strict=True)
        return [stacked(column) for column in columns]


def unrolled(t: Inference) -> Unrolled | None:
    """All iterations of a Loop; None where their number is not known, or is more than inference may look at."""
    body = t.attributes["body"]
    trips = number(t.constant(0)) if t.has(0) else None
    condition = t.constant(1) if t.has(1) else np.array(True)
    if not isinstance(body, Graph) or (trips is None and (t.has(0) or not t.has(1))):
        return None
    found = Unrolled(list(t.inputs[2:]), [t.value(i) for i in range(2, len(t.inputs))])
    most = t.most_iterations("body")
    if trips is not None and trips > most:
        return None
    while (going := number(condition)) and (trips is None or found.count < trips):
        step = iteration(t, body, found, condition) if found.count < most else None
        if step is None:
            return None
        found.add(step, 1)
        condition = plain(step.known[0]) if t.has(1) else condition
    return None if going is None else found


def slices_scanned(
    t: Inference,
    states: Sequence[Type | None],
    slices: Sequence[Type | None],
    known: Sequence[Known | None],
    length: Dim,
) -> Unrolled | None:
    """All iterations of a Scan whose inputs are known, in part, as `known`: slices in order along the first axis.

    None where nothing is known from which to learn more, or there are more than inference may look at.
    """
    found = Unrolled(list(states), [t.value(i) for i in range(len(states))])
    if all(x is None for x in (*found.known, *known)) or not isinstance(length, int):
        return None
    if length > t.most_iterations("body"):
        return None
    for i in range(length):
        rows = [None if x is None else x[i, ...] for x in known]
        step = t.iteration("body", [*found.types, *slices], [*found.known, *rows])
        if step is None or len(step.types) < max(t.outputs, len(states)):
            return None
        found.add(step, 0)
    return found


def iteration(t: Inference, body: Graph, found: Unrolled, condition: Array | None) -> Iteration | None:
    """The next iteration; None where it has a fault or gives too few values, of which `subgraph` will tell."""
    assert condition is not None, "an unknown condition does not go on"
    number_shape, condition_shape = head_shapes(body)
    heads = [np.full(number_shape, found.count, np.int64), condition.reshape(condition_shape)]
    step = t.iteration("body", [*head_types(body), *found.types], [*heads, *found.known])
    wanted = 1 + max(t.outputs, len(found.types))
    return step if step is not None and len(step.types) >= wanted else None


def number(x: Array | None) -> int | None:
    """The one number that a tensor holds; None where it is not known, or not one."""
    return int(x.item()) if x is not None and x.size == 1 else None


def plain(x: Known | None) -> Array | None:
    """Known elements that all are numbers."""
    return None if x is None or x.dtype == np.object_ else x


def stacked(elements: Sequence[tuple[Type | None, Known | None]]) -> Known | None:
    """Elements along a new first axis; those of which nothing is known are None."""
    if all(known is None for _, known in elements):
        return None
    parts = [known if known is not None else unknown(found) for found, known in elements]
    same = (
        [part for part in parts if part is not None and part.shape == parts[0].shape]
        if parts[0] is not None
        else []
    )
    if len(same) < len(parts) or sum(part.size for part in same) > MOST:
        return None
    if len({part.dtype for part in same}) > 1:
        same = [part.astype(np.object_) for part in same]
    return np.stack(same)


def unknown(found: Type | None) -> Known | None:
    """As many Nones as a tensor of this type has elements, where that is known and not too many."""
    if not isinstance(found, TensorType) or found.shape is None:
        return None
    sizes = [dim for dim in found.shape if isinstance(dim, int)]
    if len(sizes) < len(found.shape) or np.prod(sizes, dtype=float) > MOST:
        return None
    return np.full(sizes, None, np.object_)
