"""Identity of models: the stamps of their files or bytes, the digest of their content, and keys of programs.

A *stamp* identifies a version of a file by its identity, size and times; the stamp of bytes is their SHA-256.
"""

from __future__ import annotations

import os
from typing import TypeAlias

from sardonyx._src.compile.llvm.kernel_origin import Start
from sardonyx._src.compile.program import EXACT, Precision
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import ExternalDataError, InvalidModel
from sardonyx._src.io.external.files import ExternalStorage
from sardonyx._src.io.file_stamps import BytesStamp, FileStamp, FileStamps
from sardonyx._src.io.loading.model_sources import TEXT_SUFFIXES, DecoderEdit, ModelSource
from sardonyx._src.io.regular_files import open_regular, read_all
from sardonyx._src.ir import Model
from sardonyx._src.ir.walk import model_tensors

ModelStamp: TypeAlias = FileStamp | BytesStamp | FileStamps  # covers all files that contain data of a model
MAX_HASHED_FILE = 2 << 20  # bytes: hashing as many costs about as much time as opening a small program
MAX_CONTENT_STAMPS = 256
# Content stamps by file stamp, only of files that cannot change any more without changing their file stamp.
CONTENT_STAMPS: dict[FileStamp, BytesStamp] = {}


@dataclass(frozen=True, slots=True)
class ModelDigest:
    """Digest of a model's content.  operator_epoch: a number for the state of the operator registries in this process."""

    digest: bytes
    operator_epoch: int


@dataclass(frozen=True, slots=True)
class ProgramKey:
    """The key of a program: the identity of its model, the precision of products, and the origin of its kernels.

    edit: what its model differs in from that of the files; None for nothing.
    """

    content: ModelStamp | ModelDigest
    precision: Precision = EXACT
    start: Start = "library"
    edit: DecoderEdit | None = None


def stamp_source(source: ModelSource) -> FileStamp | BytesStamp | None:
    """The stamp of a file now, or of bytes; None for any other source.

    The stamp of a small file is that of its bytes, so that a copy of the file, or the same content written again, uses the
    programs that are compiled already.  A file in a text format has the stamp of the file: the same bytes with another suffix
    are another model, or none.
    """
    if isinstance(source, bytes):
        return BytesStamp.of(source)
    if not isinstance(source, str | os.PathLike):
        return None
    try:
        stamp = FileStamp.from_path(os.path.realpath(os.fspath(source)))
    except (OSError, ValueError):  # ValueError: a path with NUL
        return None
    is_small = stamp.size <= MAX_HASHED_FILE and not stamp.path.endswith(TEXT_SUFFIXES)
    return stamp_content(stamp) if is_small else stamp


def stamp_content(stamp: FileStamp) -> FileStamp | BytesStamp:
    """The stamp of the bytes of a regular file, memoized; the given stamp of the file if it cannot be read.

    If the file changes while it is read, the bytes may be of no version of it.  Their stamp is not memoized, and callers do
    not use it: after they have opened the model they take the stamp again, and compare.
    """
    memoized = CONTENT_STAMPS.get(stamp)
    if memoized is not None:
        return memoized
    try:
        with open_regular(stamp.path) as file:
            content = BytesStamp.of(read_all(file, stamp.path))
            after = FileStamp.from_descriptor(stamp.path, file.fileno())
    except (OSError, InvalidModel):  # InvalidModel: a directory, a device
        return stamp
    if after == stamp and not stamp.is_racily_clean:
        if len(CONTENT_STAMPS) >= MAX_CONTENT_STAMPS:
            CONTENT_STAMPS.clear()
        CONTENT_STAMPS[stamp] = content
    return content


def stamp_model(stamp: FileStamp | BytesStamp, model: Model) -> ModelStamp | None:
    """The stamps of all files that a model consists of, as of the time when its data were opened.

    stamp: the stamp of the model's own file or bytes.
    Returns this stamp if there are no external data; None if a file of external data cannot be opened.
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
