"""What a model can be loaded from, and the bytes of a file; sessions of cached programs need this alone."""

from __future__ import annotations

import io
import mmap
import os
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeAlias, runtime_checkable

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InvalidModel
from sardonyx._src.io import mapped_files
from sardonyx._src.io.mapped_files import MappedFile
from sardonyx._src.io.regular_files import open_regular, read_all

if TYPE_CHECKING:
    from sardonyx._src.ir import Model
    from sardonyx._src.proto.messages import ModelProto


PathSource: TypeAlias = str | os.PathLike[str]


@runtime_checkable
class Serializable(Protocol):
    """An object of another library that serializes to the wire format, such as `onnx.ModelProto`."""

    def SerializeToString(self) -> bytes: ...


@dataclass(frozen=True, slots=True)
class DecoderEdit:
    """What a generator changes of a decoder (`rewrite.decoder_edit`).

    last_output: the output that is computed at the last position alone; empty for none.
    has_room: whether caches that grow have room for more entries.
    """

    last_output: str = ""
    has_room: bool = True


class DecoderFile(os.PathLike[str]):
    """The path of a model that a session edits after it is loaded."""

    def __init__(self, path: PathSource, edit: DecoderEdit) -> None:
        self.path, self.edit = os.fspath(path), edit

    def __fspath__(self) -> str:
        return self.path


def edit_of(source: object) -> DecoderEdit | None:
    """The edit of the model of a source; None for none."""
    return source.edit if isinstance(source, DecoderFile) else None


TEXT_SUFFIXES = (".json", ".onnxtxt", ".txt")  # suffixes of files in text formats
ModelSource: TypeAlias = (
    "PathSource | bytes | bytearray | memoryview | BinaryIO | Serializable | ModelProto | Model"
)


def map_or_read(path: PathSource, read_up_to: int | None = None) -> mmap.mmap | bytes:
    """The bytes of a file, mapped if it has more than `read_up_to` bytes and can be; raises what `open_regular` raises."""
    if read_up_to is None:
        read_up_to = mapped_files.READ_UP_TO_BYTES
    with open_regular(path) as file:
        status = os.fstat(file.fileno())
        if status.st_size <= read_up_to:
            data = read_all(file, path)  # all of it: the length of a pipe is unknown
            if not data:
                raise InvalidModel(f"{path} must contain a model; got an empty file")
            return data
        try:
            return MappedFile.from_descriptor(file.fileno(), status.st_size, os.path.join(os.getcwd(), path))
        except (OSError, io.UnsupportedOperation):
            return read_all(file, path)
