"""Registry of compiled programs that sessions share, so that weights are packed once per process.

The key is the stamp of a file that has not changed, or of bytes, or the digest of a model's content (`content_hash`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TypeAlias
from weakref import WeakValueDictionary

from sardonyx._src.compile.program.executable import Executable
from sardonyx._src.errors import ExternalDataError
from sardonyx._src.io.external.files import ExternalStorage
from sardonyx._src.io.file_stamps import BytesStamp, FileStamp, FileStamps
from sardonyx._src.io.loading.load import ModelSource
from sardonyx._src.ir.model import Model
from sardonyx._src.ir.tensors import Array, Tensor
from sardonyx._src.ir.walk import model_tensors
from sardonyx._src.runtime.inner_declarations import StaticDeclarations
from sardonyx._src.runtime.specialization import Specializations


@dataclass(frozen=True, slots=True)
class ModelDigest:
    """Digest of a model's content, and the epoch of the operator registry."""

    digest: bytes
    operator_epoch: int


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class SharedProgram:
    """An executable that engines hold.

    declarations: what is known of the sizes that the model declares of inner values.  borrowed: its constants that are still the model's own, which callers may write to.  digest: of their elements when
    the program was compiled.  specializations: the specialised programs of the model.
    """

    executable: Executable
    declarations: StaticDeclarations
    borrowed: tuple[Array | Tensor, ...] = ()
    digest: str = ""
    specializations: Specializations = field(default_factory=Specializations)


ModelStamp: TypeAlias = FileStamp | BytesStamp | FileStamps  # of all files in which the data of a model are
SHARED_PROGRAMS: WeakValueDictionary[ModelStamp | ModelDigest, SharedProgram] = WeakValueDictionary()


def stamp_source(source: ModelSource) -> FileStamp | BytesStamp | None:
    """The stamp of a file now, or of bytes; None for any other source."""
    if isinstance(source, bytes):
        return BytesStamp.of(source)
    if not isinstance(source, str | os.PathLike):
        return None
    try:
        return FileStamp.from_path(os.path.realpath(os.fspath(source)))
    except (OSError, ValueError):  # ValueError: a path with NUL
        return None


def stamp_model(stamp: FileStamp | BytesStamp, model: Model) -> ModelStamp | None:
    """The stamps of all files that a model consists of, as they were when its data were opened.

    stamp: of the model's own file or bytes.  None if the file of some external data cannot be opened.
    """
    storages = {
        tensor.storage.file: tensor.storage
        for tensor in model_tensors(model)
        if isinstance(tensor.storage, ExternalStorage)
    }
    if not storages:
        return stamp
    try:
        opened = {storage.contents().opened for storage in storages.values()}
    except ExternalDataError:
        return None
    return FileStamps((stamp, *sorted(opened, key=lambda file: file.path)))
