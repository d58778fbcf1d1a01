"""Registry of compiled programs that sessions share, so that weights are packed once per process.

The key is the stamp of a file that has not changed, or the digest of a model's content (`content_hash`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from weakref import WeakValueDictionary

from sardonyx._src.compile.program.executable import Executable
from sardonyx._src.io.external.files import ExternalStorage
from sardonyx._src.io.file_stamps import FileStamp
from sardonyx._src.io.loading.load import ModelSource
from sardonyx._src.ir.model import Model
from sardonyx._src.ir.tensors import Array, Tensor
from sardonyx._src.ir.walk import model_tensors
from sardonyx._src.runtime.inner_declarations import StaticDeclarations


@dataclass(frozen=True, slots=True)
class ModelDigest:
    """Digest of a model's content, and the epoch of the operator registry."""

    digest: bytes
    operator_epoch: int


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class SharedProgram:
    """An executable that engines hold.

    declarations: what is known of the sizes that the model declares of inner values.  borrowed: its constants that are still the model's own, which callers may write to.  digest: of their elements when
    the program was compiled.
    """

    executable: Executable
    declarations: StaticDeclarations
    borrowed: tuple[Array | Tensor, ...] = ()
    digest: str = ""


SHARED_PROGRAMS: WeakValueDictionary[FileStamp | ModelDigest, SharedProgram] = WeakValueDictionary()


def stamp_file(source: ModelSource) -> FileStamp | None:
    """The stamp of a file now; None if the source is not the path of a file."""
    if not isinstance(source, str | os.PathLike):
        return None
    try:
        return FileStamp.from_path(os.path.realpath(os.fspath(source)))
    except (OSError, ValueError):  # ValueError: a path with NUL
        return None


def has_external_data(model: Model) -> bool:
    """Whether data of a model is in other files than its own."""
    return any(isinstance(tensor.storage, ExternalStorage) for tensor in model_tensors(model))
