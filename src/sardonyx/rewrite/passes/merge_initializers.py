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
from sardonyx.ir.tensors import Tensor
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
    first: dict[Hashable, Value] = {}
    for values in alike.values():
        for value in values if len(values) > 1 else ():
            kept = first.setdefault(content(value), value)
            if kept is not value:
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
    """Something that is equal for equal tensors; of one whose data are not at hand, itself."""
    tensor = value.initializer
    assert isinstance(tensor, Tensor), f"{value!r} has no dense tensor"
    try:
        data = tensor.numpy()
    except ExternalDataError:
        return value
    if tensor.dtype is DataType.STRING:
        return tensor.dtype, tensor.shape, tuple(data.reshape(-1).tolist())
    return (
        tensor.dtype,
        tensor.shape,
        hashlib.blake2b(np.ascontiguousarray(data).view(np.uint8).data).digest(),
    )
