"""Inference by unrolling: the iterations of a Loop or Scan with a small known trip count are inferred one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from functools import reduce

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Array, Graph, TensorType, Type
from sardonyx._src.ir.dims import Dim
from sardonyx._src.ops.control.bodies import head_shapes, head_types
from sardonyx._src.ops.control.joins import join
from sardonyx._src.ops.inference import Inference, Iteration, Known

MAX_SCAN_ELEMENTS = 4096  # the largest scan output whose elements are tracked; larger ones are no shapes


@dataclass(slots=True)
class UnrolledLoop:
    """The results of all iterations: the final carried values, and the elements of scan outputs from each iteration."""

    types: list[Type | None]
    known: list[Known | None]
    yielded: list[Iteration] = field(default_factory=list)  # without the condition and the carried values

    @property
    def count(self) -> int:
        return len(self.yielded)

    def add(self, step: Iteration, first: int) -> None:
        """Add the outputs of the next iteration; output `first` of the body is the first carried value."""
        count = first + len(self.types)
        self.types, self.known = list(step.types[first:count]), list(step.known[first:count])
        self.yielded.append(Iteration(step.types[count:], step.known[count:]))

    def element_types(self, inference: Inference) -> list[Type | None]:
        """For each scan output, the join of the types of its elements; there must have been an iteration."""
        columns = zip(*(step.types for step in self.yielded), strict=True)
        return [reduce(lambda a, b: join(inference, a, b, "a scan output"), column) for column in columns]

    def stack(self) -> list[Known | None]:
        """The known elements of each scan output; an empty list if there is no iteration."""
        columns = zip(*(zip(step.types, step.known, strict=True) for step in self.yielded), strict=True)
        return [stack_elements(column) for column in columns]


def unroll_loop(inference: Inference) -> UnrolledLoop | None:
    """All iterations of a Loop; None if their number is not known, or exceeds the limit of inference."""
    body = inference.attributes["body"]
    trips = number(inference.constant(0)) if inference.has(0) else None
    condition = inference.constant(1) if inference.has(1) else np.array(True)
    if not isinstance(body, Graph) or (trips is None and (inference.has(0) or not inference.has(1))):
        return None
    loop = UnrolledLoop(
        list(inference.inputs[2:]), [inference.value(i) for i in range(2, len(inference.inputs))]
    )
    limit = inference.max_iterations("body")
    if trips is not None and trips > limit:
        return None
    while (going := number(condition)) and (trips is None or loop.count < trips):
        step = iteration(inference, body, loop, condition) if loop.count < limit else None
        if step is None:
            return None
        loop.add(step, 1)
        condition = plain(step.known[0]) if inference.has(1) else condition
    return None if going is None else loop


def unroll_scan(
    inference: Inference,
    states: Sequence[Type | None],
    slices: Sequence[Type | None],
    known: Sequence[Known | None],
    length: Dim,
) -> UnrolledLoop | None:
    """All iterations of a Scan; `known` are the known elements of its inputs, slices along the first axis.

    None if nothing is known, or there are more iterations than the limit of inference.
    """
    loop = UnrolledLoop(list(states), [inference.value(i) for i in range(len(states))])
    if all(x is None for x in (*loop.known, *known)) or not isinstance(length, int):
        return None
    if length > inference.max_iterations("body"):
        return None
    for i in range(length):
        rows = [None if x is None else x[i, ...] for x in known]
        step = inference.iteration("body", [*loop.types, *slices], [*loop.known, *rows])
        if step is None or len(step.types) < max(inference.outputs, len(states)):
            return None
        loop.add(step, 0)
    return loop


def iteration(
    inference: Inference, body: Graph, loop: UnrolledLoop, condition: Array | None
) -> Iteration | None:
    """The next iteration; None if it is invalid or has too few outputs, which `subgraph` reports."""
    assert condition is not None, "an unknown condition does not go on"
    number_shape, condition_shape = head_shapes(body)
    heads = [np.full(number_shape, loop.count, np.int64), condition.reshape(condition_shape)]
    step = inference.iteration("body", [*head_types(body), *loop.types], [*heads, *loop.known])
    required = 1 + max(inference.outputs, len(loop.types))
    return step if step is not None and len(step.types) >= required else None


def number(x: Array | None) -> int | None:
    """The number in a tensor of one element; None for other tensors, and if it is not known."""
    return int(x.item()) if x is not None and x.size == 1 else None


def plain(x: Known | None) -> Array | None:
    """The known elements if all of them are numbers, otherwise None."""
    return None if x is None or x.dtype == np.object_ else x


def stack_elements(elements: Sequence[tuple[Type | None, Known | None]]) -> Known | None:
    """Elements stacked along a new first axis; unknown elements are None."""
    if all(known is None for _, known in elements):
        return None
    parts = [known if known is not None else unknown(type) for type, known in elements]
    same = (
        [part for part in parts if part is not None and part.shape == parts[0].shape]
        if parts[0] is not None
        else []
    )
    if len(same) < len(parts) or sum(part.size for part in same) > MAX_SCAN_ELEMENTS:
        return None
    if len({part.dtype for part in same}) > 1:
        same = [part.astype(np.object_) for part in same]
    return np.stack(same)


def unknown(type: Type | None) -> Known | None:
    """An array of None in the shape of a type; None if the shape is not known or too large."""
    if not isinstance(type, TensorType) or type.shape is None:
        return None
    sizes = [dim for dim in type.shape if isinstance(dim, int)]
    if len(sizes) < len(type.shape) or np.prod(sizes, dtype=float) > MAX_SCAN_ELEMENTS:
        return None
    return np.full(sizes, None, np.object_)
