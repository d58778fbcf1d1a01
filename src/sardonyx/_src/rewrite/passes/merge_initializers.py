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
from sardonyx._src.io.external.stored_bytes import stored_bytes
from sardonyx._src.io.memory_release import release_pages
from sardonyx._src.ir import Array, Graph, Tensor, Value
from sardonyx._src.ir.walk import roots
from sardonyx._src.rewrite.api import sweep
from sardonyx._src.rewrite.engine.edit import Edit

LARGE_ELEMENTS = (
    1 << 12
)  # elements from which a tensor is compared directly, without a digest of all its elements
SAMPLES, SAMPLE_ELEMENTS = (
    4,
    4,
)  # places, which may be pages of a file, and the elements of each that are compared first


@sweep(phase="simplify")
def merge_initializers(edit: Edit) -> Iterator[str]:
    for root in roots(edit.model):
        yield from merge(root, edit)


def merge(graph: Graph, edit: Edit) -> Iterator[str]:
    for values in candidates(graph, edit):
        first: dict[Hashable, list[Value]] = {}
        for value in values:
            others = first.setdefault(content_key(value, edit), [])
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
        if tensor is not None and edit.is_internal(value) and is_comparable(tensor):
            types.setdefault((tensor.dtype, tensor.shape), []).append((value, tensor))
    for pairs in types.values():
        samples: dict[Hashable, list[Value]] = {}
        for value, tensor in pairs if len(pairs) > 1 else ():
            if tensor not in edit.samples:
                edit.samples[tensor] = sample(tensor)
            samples.setdefault(edit.samples[tensor], []).append(value)
        yield from (values for values in samples.values() if len(values) > 1)


def is_comparable(tensor: Tensor) -> bool:
    """Whether elements can be compared as they are stored: to unpack a matrix of weights takes longer than it saves."""
    return not is_packed(tensor) or tensor.size < LARGE_ELEMENTS or stored_bytes(tensor) is not None


def is_packed(tensor: Tensor) -> bool:
    return tensor.dtype is not DataType.STRING and tensor.dtype.bits < 8


def elements(tensor: Tensor) -> Array:
    """The elements, or the bytes of a tensor of less than 8 bits an element."""
    stored = stored_bytes(tensor) if is_packed(tensor) else None
    return tensor.numpy() if stored is None else stored


def sample(tensor: Tensor) -> Hashable:
    """A few elements, which distinguish most large tensors without reading them completely."""
    if tensor.size < LARGE_ELEMENTS or tensor.dtype is DataType.STRING:
        return None
    try:
        data = elements(tensor)
    except ExternalDataError:
        return None
    starts = np.arange(SAMPLES) * ((data.size - SAMPLE_ELEMENTS) // (SAMPLES - 1))
    positions = np.add.outer(starts, np.arange(SAMPLE_ELEMENTS)).reshape(-1)
    taken = data[np.unravel_index(positions, data.shape)].tobytes()
    release_pages(data)
    return taken


def content_key(value: Value, edit: Edit) -> Hashable:
    """A key that is equal for equal tensors: a digest of small ones; None for large ones, which are compared directly."""
    tensor = value.initializer
    assert isinstance(tensor, Tensor), f"{value!r} has no dense tensor"
    if tensor.size >= LARGE_ELEMENTS and tensor.dtype is not DataType.STRING:
        return value if is_unavailable(tensor) else None
    if tensor not in edit.digests:
        # Unavailable data equal only themselves.
        edit.digests[tensor] = value if is_unavailable(tensor) else digest(tensor)
    return edit.digests[tensor]


def digest(tensor: Tensor) -> Hashable:
    data = tensor.numpy()
    if tensor.dtype is DataType.STRING:
        return tuple(data.reshape(-1).tolist())
    return hashlib.blake2b(as_bytes(data).data).digest()


def is_unavailable(tensor: Tensor) -> bool:
    """Whether a tensor is in an external file that is not available."""
    try:
        tensor.numpy()
    except ExternalDataError:
        return True
    return False


def is_same(first: Value, second: Value) -> bool:
    """Whether two tensors of equal keys hold the same bytes."""
    a, b = first.initializer, second.initializer
    assert isinstance(a, Tensor) and isinstance(b, Tensor), "both are dense"
    if a.dtype is DataType.STRING or a.size < LARGE_ELEMENTS:
        return True
    return a is b or np.array_equal(as_bytes(elements(a)), as_bytes(elements(b)))


def as_bytes(data: Array) -> Array:
    return np.ascontiguousarray(data).reshape(-1).view(np.uint8)
