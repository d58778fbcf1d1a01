"""Content hash of a model: sessions of models with equal content share a program.

The digest covers the record of the model and the elements of all tensors.  It also covers the edges of the graphs, since
names may be ambiguous in an edited model.  Operators that callers have registered change what a model computes, so that a
number for the state of the registries is part of the result.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from threading import Lock

import numpy as np

from sardonyx._src.compile.lower.registry import user_lowerings
from sardonyx._src.compile.partition.regions.registry import user_matchers
from sardonyx._src.compile.program.operands.lazy_constants import iter_bytes
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import SardonyxError
from sardonyx._src.io.external.stored_bytes import stored_bytes
from sardonyx._src.io.serde import to_proto
from sardonyx._src.io.serde.tensors import Placement
from sardonyx._src.ir import Array, Graph, Model, Tensor, Value
from sardonyx._src.ir.walk import graphs, roots
from sardonyx._src.ops import registry
from sardonyx._src.proto.binary import encode
from sardonyx._src.runtime.identity.model_stamps import ModelDigest

MAX_INLINE_BYTES = 1 << 10  # size from which the record has the digest of a tensor instead of its elements


def digest_model(model: Model) -> ModelDigest | None:
    """The digest of a model's content; None for a model that cannot be encoded, or whose data cannot be read."""
    try:
        return ModelDigest(digest_record(model, external_digest), OPERATOR_EPOCH.current())
    except SardonyxError:
        return None


def digest_record(model: Model, placement: Placement) -> bytes:
    """SHA-256 of the record of a model and of the edges of its graphs.

    placement: returns external-data entries that represent the elements of a tensor; None for elements in the record.
    """
    digest = hashlib.sha256(encode(to_proto.model(model, placement)))
    for root in roots(model):
        digest.update(encode_edges(root).tobytes())
    return digest.digest()


def external_digest(tensor: Tensor) -> list[tuple[str, str]] | None:
    """External-data entries that hold a tensor's digest; None for a tensor whose elements are encoded in the record."""
    if tensor.dtype is DataType.STRING or tensor.nbytes < MAX_INLINE_BYTES:
        return None
    content = stored_bytes(tensor)
    kind = type(tensor.storage).__name__
    return None if content is None else [("kind", kind), ("sha256", digest_tensors([content]))]


def digest_tensors(tensors: Iterable[Array | Tensor]) -> str:
    """SHA-256 of the shapes, element types and elements of arrays and tensors."""
    digest = hashlib.sha256()
    for tensor in tensors:
        array = tensor.numpy() if isinstance(tensor, Tensor) else tensor
        digest.update(repr((array.shape, array.dtype.str)).encode())
        if array.dtype == object:
            digest.update(repr(array.tolist()).encode())
            continue
        for part in iter_bytes(array):
            digest.update(part)
    return digest.hexdigest()


def encode_edges(root: Graph) -> Array:
    """All values that a graph and its subgraphs refer to, group by group, as numbers in the order of first appearance.

    The groups are those of `value_groups`; -1 begins a group, 0 is an omitted value.
    """
    numbers: dict[Value | None, int] = {None: 0}
    numbered = []
    for graph in graphs(root):
        for group in value_groups(graph):
            numbered += [-1, *(numbers.setdefault(value, len(numbers)) for value in group)]
    return np.array(numbered, np.int64)


def value_groups(graph: Graph) -> Iterator[Iterable[Value | None]]:
    """The inputs and initializers of a graph, the inputs and outputs of each node, and the outputs of the graph."""
    yield graph.inputs
    yield graph.initializers.values()
    for node in graph.nodes:
        yield node.inputs
        yield node.outputs
    yield graph.outputs


class OperatorEpoch:
    """Counts the changes of this process's registries of operators, matchers and lowerings, as far as they are noticed.

    registered: the entries that callers had registered or changed at the last call of `current`.
    """

    def __init__(self) -> None:
        self.registered: tuple[object, ...] = ()
        self.count = 0
        self.lock = Lock()

    def current(self) -> int:
        """A number that stays the same as long as nothing is registered or replaced."""
        registered = (*registry.departures(), *user_matchers(), *user_lowerings())
        with self.lock:
            if registered != self.registered:
                self.registered, self.count = registered, self.count + 1
            return self.count


OPERATOR_EPOCH = OperatorEpoch()
