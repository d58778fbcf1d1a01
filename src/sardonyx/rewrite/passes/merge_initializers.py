"""merge-initializers: of initializers that hold the same, one stays.

Before:  g (float[2] x) => (float[2] y) <float[2] v = {1, 2}, float[2] w = {1, 2}> { a = Add(x, v)  y = Mul(a, w) }
After:   g (float[2] x) => (float[2] y) <float[2] v = {1, 2}> { a = Add(x, v)  y = Mul(a, v) }
Keeps:   initializers that a caller can replace, that training changes, or that are outputs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator

import numpy as np

from sardonyx.dtypes import DataType
from sardonyx.errors import ExternalDataError
from sardonyx.ir.graph import Graph, Value
from sardonyx.ir.tensors import Array, Tensor
from sardonyx.ir.walk import roots
from sardonyx.rewrite.api import sweep
from sardonyx.rewrite.edit import Edit

LARGE, SAMPLES = 1 << 12, 64  # elements


@sweep(phase="simplify")
def merge_initializers(edit: Edit) -> Iterator[str]:
    for root in roots(edit.model):
        yield from merge(root, edit)


def merge(graph: Graph, edit: Edit) -> Iterator[str]:
    alike: dict[Hashable, list[Value]] = {}
    for value in graph.initializers.values():
        tensor = edit.tensor(value)
        if tensor is not None and edit.is_free(value):
            alike.setdefault((tensor.dtype, tensor.shape, sample(tensor)), []).append(value)
    for values in alike.values():
        first: dict[Hashable, list[Value]] = {}
        for value in values if len(values) > 1 else ():
            others = first.setdefault(content(value), [])
            kept = next((one for one in others if is_same(one, value)), None)
            if kept is None:
                others.append(value)
            else:
                edit.touch_readers(value)
                value.replace_by(kept)
                edit.remove_initializer(value)
                yield f"initializer {value.name!r}"


def sample(tensor: Tensor) -> Hashable:
    """A few elements, which tell most large tensors apart without a look at the whole."""
    if tensor.size < LARGE or tensor.dtype is DataType.STRING:
        return None
    try:
        data = tensor.numpy().reshape(-1)
    except ExternalDataError:
        return None
    return data[:: len(data) // SAMPLES].tobytes()


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
