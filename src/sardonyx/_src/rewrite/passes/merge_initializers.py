"""merge-initializers: of initializers that hold the same, one stays.

Before:  g (float[2] x) => (float[2] y) <float[2] v = {1, 2}, float[2] w = {1, 2}> { a = Add(x, v)  y = Mul(a, w) }
After:   g (float[2] x) => (float[2] y) <float[2] v = {1, 2}> { a = Add(x, v)  y = Mul(a, v) }
Keeps:   initializers that a caller can replace, that training changes, or that are outputs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import ExternalDataError
from sardonyx._src.io.pages import let_go
from sardonyx._src.ir.graph import Graph, Value
from sardonyx._src.ir.tensors import Array, Tensor
from sardonyx._src.ir.walk import roots
from sardonyx._src.rewrite.api import sweep
from sardonyx._src.rewrite.edit import Edit

LARGE, SAMPLES = 1 << 12, 16  # elements


@sweep(phase="simplify")
def merge_initializers(edit: Edit) -> Iterator[str]:
    for root in roots(edit.model):
        yield from merge(root, edit)


def merge(graph: Graph, edit: Edit) -> Iterator[str]:
    for values in alike(graph, edit):
        first: dict[Hashable, list[Value]] = {}
        for value in values:
            others = first.setdefault(content(value), [])
            kept = next((one for one in others if is_same(one, value)), None)
            if kept is None:
                others.append(value)
            else:
                edit.touch_readers(value)
                value.replace_by(kept)
                edit.remove_initializer(value)
                yield f"initializer {value.name!r}"


def alike(graph: Graph, edit: Edit) -> Iterator[list[Value]]:
    """Several initializers each, of one type and shape, that hold the same as far as a few elements tell."""
    types: dict[Hashable, list[tuple[Value, Tensor]]] = {}
    for value in graph.initializers.values():
        tensor = edit.tensor(value)
        if tensor is not None and edit.is_free(value):
            types.setdefault((tensor.dtype, tensor.shape), []).append((value, tensor))
    for pairs in types.values():
        samples: dict[Hashable, list[Value]] = {}
        for value, tensor in pairs if len(pairs) > 1 else ():
            samples.setdefault(sample(tensor), []).append(value)
        yield from (values for values in samples.values() if len(values) > 1)


def sample(tensor: Tensor) -> Hashable:
    """A few elements, which tell most large tensors apart without a look at the whole."""
    if tensor.size < LARGE or tensor.dtype is DataType.STRING:
        return None
    try:
        data = tensor.numpy().reshape(-1)
    except ExternalDataError:
        return None
    found = data[:: len(data) // SAMPLES].tobytes()
    let_go(data)
    return found


def content(value: Value) -> Hashable:
    """Equal for equal tensors: a digest of small ones; large ones of equal samples are compared as they are."""
    tensor = value.initializer
    assert isinstance(tensor, Tensor), f"{value!r} has no dense tensor"
    try:
        data = tensor.numpy()
    except ExternalDataError:
        return value  # its data are not at hand: equal to itself
    if tensor.dtype is DataType.STRING:
        return tuple(data.reshape(-1).tolist())
    return None if tensor.size >= LARGE else hashlib.blake2b(as_bytes(data).data).digest()


def is_same(one: Value, other: Value) -> bool:
    """Whether two tensors of equal content hold the same bytes."""
    a, b = one.initializer, other.initializer
    assert isinstance(a, Tensor) and isinstance(b, Tensor), "both are dense"
    if a.dtype is DataType.STRING or a.size < LARGE:
        return True
    return a is b or np.array_equal(as_bytes(a.numpy()), as_bytes(b.numpy()))


def as_bytes(data: Array) -> Array:
    return np.ascontiguousarray(data).reshape(-1).view(np.uint8)
