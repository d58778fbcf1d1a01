"""What is in a model at a moment, as a digest: sessions of models that hold the same share a program.

The digest covers the whole record of the model, the elements of all tensors, which node reads which value, and the
operators that this process knows: names may be ambiguous in a model that was edited, and operators be registered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from threading import Lock

import numpy as np

from sardonyx._src.compile import registry as lowerings
from sardonyx._src.compile.pending import bytes_of
from sardonyx._src.compile.program import Program
from sardonyx._src.compile.tensor import Tensor as Operand
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import SardonyxError
from sardonyx._src.io import to_proto
from sardonyx._src.io.external.files import ExternalStorage
from sardonyx._src.ir.graph import Graph, Model, Value
from sardonyx._src.ir.tensors import Array, ArrayStorage, RawStorage, Tensor
from sardonyx._src.ir.walk import graphs, roots
from sardonyx._src.ops import registry
from sardonyx._src.proto.binary import encode
from sardonyx._src.runtime.unchanged import COMPILED, Compiled, Content, Version, tensors

SMALL = 1 << 10  # bytes of a tensor that goes into the record as it is


def content_of(model: Model) -> Content | None:
    """What is in a model now; None for one that cannot be written down, or whose data cannot be read."""
    try:
        record = encode(to_proto.model(model, place))
    except SardonyxError:
        return None
    digest = hashlib.sha256(record)
    for root in roots(model):
        digest.update(edges(root).tobytes())
    return Content(digest.digest(), OPERATORS.moment())


def place(tensor: Tensor) -> list[tuple[str, str]] | None:
    """Where data go that are not in the record: the digest stands for them."""
    if tensor.dtype is DataType.STRING or tensor.nbytes < SMALL:
        return None
    found = stored(tensor)
    kind = type(tensor.storage).__name__
    return None if found is None else [("kind", kind), ("sha256", digest_of([found]))]


def stored(tensor: Tensor) -> Array | None:
    """The bytes of a tensor where they are; None for data in the record's own fields."""
    match tensor.storage:
        case RawStorage(data):
            return np.frombuffer(data, np.uint8)
        case ExternalStorage() as storage:
            return np.frombuffer(storage.view(), np.uint8)
        case ArrayStorage(values):
            return values
    return None


def digest_of(found: Iterable[Array | Tensor]) -> str:
    """SHA-256 of what arrays and tensors hold now; pages are let go if they are of files."""
    digest = hashlib.sha256()
    for one in found:
        array = one.numpy() if isinstance(one, Tensor) else one
        digest.update(repr((array.shape, array.dtype.str)).encode())
        if array.dtype == object:
            digest.update(repr(array.tolist()).encode())
            continue
        for part in bytes_of(array):
            digest.update(part)
    return digest.hexdigest()


def edges(root: Graph) -> Array:
    """Which values the graphs below a root give, make and read, each by the number of its first appearance."""
    numbers: dict[Value | None, int] = {None: 0}
    found = []
    for graph in graphs(root):
        for group in groups(graph):
            found += [-1, *(numbers.setdefault(value, len(numbers)) for value in group)]
    return np.array(found, np.int64)


def groups(graph: Graph) -> Iterator[Iterable[Value | None]]:
    yield graph.inputs
    yield graph.initializers.values()
    for node in graph.nodes:
        yield node.inputs
        yield node.outputs
    yield graph.outputs


class Operators:
    """Counts how often this process came to know other operators, facets of theirs, or lowerings than are shipped."""

    def __init__(self) -> None:
        self.known: tuple[object, ...] = ()
        self.count = 0
        self.lock = Lock()

    def moment(self) -> int:
        """A number that stays the same as long as nothing is registered or replaced."""
        known = (*registry.departures(), *lowerings.departures())
        with self.lock:
            if known != self.known:
                self.known, self.count = known, self.count + 1
            return self.count


OPERATORS = Operators()


def borrowed(program: Program) -> tuple[Array | Tensor, ...]:
    """The constants of a program that are yet the model's own, for steps and for nodes that the host runs."""
    found = (arg.storage.content for step in program.steps for arg in step.args if isinstance(arg, Operand))
    arrays = (content for content in found if isinstance(content, np.ndarray))
    return *arrays, *tensors(program.model)


def shared(key: Version | Content | None) -> Compiled | None:
    """The program that other engines have of a model, if its constants are what they were."""
    found = None if key is None else COMPILED.get(key)
    if found is None or (found.borrowed and digest_of(found.borrowed) != found.digest):
        return None
    return found


def compiled(program: Program, key: Version | Content | None) -> Compiled:
    """A program to be shared; what it borrows is looked at again only if no version of a file stands for it."""
    if not isinstance(key, Content):
        return Compiled(program)
    found = borrowed(program)
    return Compiled(program, found, digest_of(found))
