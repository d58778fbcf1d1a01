"""What a model can be loaded from, and the bytes of a file; sessions of cached programs need this alone."""

from __future__ import annotations

import io
import mmap
import os
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeAlias, runtime_checkable

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


class LastPositionFile(os.PathLike[str]):
    """The path of a model of which a session computes an output at the last position alone (`rewrite.last_position`).

    output: the name of the output.
    """

    def __init__(self, path: PathSource, output: str) -> None:
        self.path, self.output = os.fspath(path), output

    def __fspath__(self) -> str:
        return self.path


def last_output_of(source: object) -> str:
    """The output that a session computes at the last position alone; empty for none."""
    return source.output if isinstance(source, LastPositionFile) else ""


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
