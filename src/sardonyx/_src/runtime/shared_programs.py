"""Registry of compiled programs that sessions share, so that weights are packed once per process.

The key is the stamp of a file that has not changed, or the digest of a model's content (`content_hash`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from sardonyx._src.compile.program.executable import Executable
from sardonyx._src.io.external.files import ExternalStorage
from sardonyx._src.io.loading.load import ModelSource
from sardonyx._src.ir.model import Model
from sardonyx._src.ir.tensors import Array, SparseTensor, Tensor
from sardonyx._src.ir.walk import graphs, roots

RACY_WINDOW = 100_000_000  # nanoseconds: more than the resolution of a file system's timestamps


@dataclass(frozen=True, slots=True)
class FileStamp:
    """Identity of a file and of its content: path, device, inode, size, and times of modification and change.

    seen: when the stamp was taken, in nanoseconds.
    """

    path: str
    device: int
    inode: int
    size: int
    modified: int
    changed: int
    seen: int = field(compare=False, repr=False)

    @property
    def is_racily_clean(self) -> bool:
        """Whether the file may still change without changing the stamp ("racily clean", as git's index calls it)."""
        return self.seen - self.changed <= RACY_WINDOW


@dataclass(frozen=True, slots=True)
class ModelDigest:
    """Digest of a model's content, and the epoch of the operator registry."""

    digest: bytes
    operator_epoch: int


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class SharedProgram:
    """An executable that engines hold.

    borrowed: its constants that are still the model's own, which callers may write to.  digest: of their elements when
    the program was compiled.
    """

    executable: Executable
    borrowed: tuple[Array | Tensor, ...] = ()
    digest: str = ""


SHARED_PROGRAMS: WeakValueDictionary[FileStamp | ModelDigest, SharedProgram] = WeakValueDictionary()


def stamp_file(source: ModelSource) -> FileStamp | None:
    """The stamp of a file now; None if the source is not the path of a file."""
    if not isinstance(source, str | os.PathLike):
        return None
    seen, path = time.time_ns(), os.path.realpath(os.fspath(source))
    try:
        stat = os.stat(path)
    except OSError:
        return None
    return FileStamp(path, stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, seen)


def has_external_data(model: Model) -> bool:
    """Whether data of a model is in other files than its own."""
    return any(isinstance(tensor.storage, ExternalStorage) for tensor in model_tensors(model))


def model_tensors(model: Model) -> Iterator[Tensor]:
    """The initializers of a model and the tensors in attributes of its nodes; of sparse ones both parts."""
    for graph in (graph for root in roots(model) for graph in graphs(root)):
        for value in graph.initializers.values():
            yield from dense_tensors(value.initializer)
        for node in graph.nodes:
            for attribute in node.attributes.values():
                yield from dense_tensors(attribute.value)


def dense_tensors(value: object) -> Iterator[Tensor]:
    """The tensors in an initializer or an attribute."""
    match value:
        case Tensor():
            yield value
        case SparseTensor():
            yield from (value.values, value.indices)
        case [Tensor() | SparseTensor(), *_]:
            for element in value:
                yield from dense_tensors(element)
