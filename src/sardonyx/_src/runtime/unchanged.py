"""Programs that sessions share, so that weights are packed once: of one unchanged file, or of models that hold the same."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from sardonyx._src.compile.program import Program
from sardonyx._src.io.external.files import ExternalStorage
from sardonyx._src.io.load import Source
from sardonyx._src.ir.graph import Model
from sardonyx._src.ir.tensors import Array, SparseTensor, Tensor
from sardonyx._src.ir.walk import graphs, roots

TICK = 100_000_000  # nanoseconds, longer than a file system takes for one moment


@dataclass(frozen=True, slots=True)
class Version:
    """What tells the content of a file from that of another time: its place, size and times."""

    path: str
    device: int
    inode: int
    size: int
    modified: int
    changed: int
    seen: int = field(compare=False, repr=False)  # nanoseconds, when this was found

    @property
    def is_settled(self) -> bool:
        """Whether any change after this was found shows in the times."""
        return self.seen - self.changed > TICK


@dataclass(frozen=True, slots=True)
class Content:
    """What tells a model from all others in this process, whatever objects it is made of."""

    digest: bytes
    operators: int


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Compiled:
    """A program in the hands of the engines that run it.

    borrowed: those of its constants that others may write to; digest: what they held when it was made.
    """

    program: Program
    borrowed: tuple[Array | Tensor, ...] = ()
    digest: str = ""


COMPILED: WeakValueDictionary[Version | Content, Compiled] = WeakValueDictionary()


def version_of(source: Source) -> Version | None:
    """What the content of a file goes by at this moment; None for no file."""
    if not isinstance(source, str | os.PathLike):
        return None
    seen, path = time.time_ns(), os.path.realpath(os.fspath(source))
    try:
        found = os.stat(path)
    except OSError:
        return None
    return Version(
        path, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns, seen
    )


def is_whole(model: Model) -> bool:
    """Whether all data of a model are in its own file."""
    return not any(isinstance(tensor.storage, ExternalStorage) for tensor in tensors(model))


def tensors(model: Model) -> Iterator[Tensor]:
    """The initializers of a model and the tensors in attributes of its nodes; of sparse ones both parts."""
    for graph in (graph for root in roots(model) for graph in graphs(root)):
        for value in graph.initializers.values():
            yield from parts(value.initializer)
        for node in graph.nodes:
            for attribute in node.attributes.values():
                yield from parts(attribute.value)


def parts(value: object) -> Iterator[Tensor]:
    match value:
        case Tensor():
            yield value
        case SparseTensor():
            yield from (value.values, value.indices)
        case [Tensor() | SparseTensor(), *_]:
            for one in value:
                yield from parts(one)
