"""merge-initializers: merge initializers with equal contents.

Before:  g (float[2] x) => (float[2] y) <float[2] v = {1, 2}, float[2] w = {1, 2}> { a = Add(x, v)  y = Mul(a, w) }
After:   g (float[2] x) => (float[2] y) <float[2] v = {1, 2}> { a = Add(x, v)  y = Mul(a, v) }
Keeps:   initializers that a feed can replace, that training changes, or that are outputs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import ExternalDataError
from sardonyx._src.io.memory_release import release_pages
from sardonyx._src.ir import Array, Graph, Tensor, Value
from sardonyx._src.ir.walk import roots
from sardonyx._src.rewrite.api import sweep
from sardonyx._src.rewrite.engine.edit import Edit

LARGE_ELEMENTS = (
    1 << 12
)  # elements from which a tensor is compared directly, without a digest of all its elements
SAMPLES = 16  # elements that are compared first


@sweep(phase="simplify")
def merge_initializers(edit: Edit) -> Iterator[str]:
    for root in roots(edit.model):
        yield from merge(root, edit)


def merge(graph: Graph, edit: Edit) -> Iterator[str]:
    for values in candidates(graph, edit):
        first: dict[Hashable, list[Value]] = {}
        for value in values:
            others = first.setdefault(content_key(value), [])
            duplicate = next((other for other in others if is_same(other, value)), None)
            if duplicate is None:
                others.append(value)
            else:
                edit.touch_readers(value)
                value.replace_by(duplicate)
                edit.remove_initializer(value)
                yield f"initializer {value.name!r}"


def candidates(graph: Graph, edit: Edit) -> Iterator[list[Value]]:
    """Groups of initializers with the same type, shape and sampled elements."""
    types: dict[Hashable, list[tuple[Value, Tensor]]] = {}
    for value in graph.initializers.values():
        tensor = edit.tensor(value)
        if tensor is not None and edit.is_internal(value):
            types.setdefault((tensor.dtype, tensor.shape), []).append((value, tensor))
    for pairs in types.values():
        samples: dict[Hashable, list[Value]] = {}
        for value, tensor in pairs if len(pairs) > 1 else ():
            samples.setdefault(sample(tensor), []).append(value)
        yield from (values for values in samples.values() if len(values) > 1)


def sample(tensor: Tensor) -> Hashable:
    """A few elements, which distinguish most large tensors without reading them completely."""
    if tensor.size < LARGE_ELEMENTS or tensor.dtype is DataType.STRING:
        return None
    try:
        data = tensor.numpy().reshape(-1)
    except ExternalDataError:
        return None
    taken = data[:: len(data) // SAMPLES].tobytes()
    release_pages(data)
    return taken


def content_key(value: Value) -> Hashable:
    """A key that is equal for equal tensors: a digest of small ones; None for large ones, which are compared directly."""
    tensor = value.initializer
    assert isinstance(tensor, Tensor), f"{value!r} has no dense tensor"
    try:
        data = tensor.numpy()
    except ExternalDataError:
        return value  # its data are unavailable, so that it equals only itself
    if tensor.dtype is DataType.STRING:
        return tuple(data.reshape(-1).tolist())
    return None if tensor.size >= LARGE_ELEMENTS else hashlib.blake2b(as_bytes(data).data).digest()


def is_same(first: Value, second: Value) -> bool:
    """Whether two tensors of equal keys hold the same bytes."""
    a, b = first.initializer, second.initializer
    assert isinstance(a, Tensor) and isinstance(b, Tensor), "both are dense"
    if a.dtype is DataType.STRING or a.size < LARGE_ELEMENTS:
        return True
    return a is b or np.array_equal(as_bytes(a.numpy()), as_bytes(b.numpy()))


def as_bytes(data: Array) -> Array:
    return np.ascontiguousarray(data).reshape(-1).view(np.uint8)
