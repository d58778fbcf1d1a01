"""Loading: a path, bytes, a file object or a foreign ModelProto to a model."""

from __future__ import annotations

import gc
import io
import mmap
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol, TypeAlias, runtime_checkable

from sardonyx._src.errors import DecodeError, InvalidModel
from sardonyx._src.io import from_proto
from sardonyx._src.io.external import ExternalFiles, Policy
from sardonyx._src.io.operator_sets import SetSource, with_operator_sets
from sardonyx._src.io.text_files import read_text
from sardonyx._src.ir.graph import Model, Note
from sardonyx._src.proto.binary import decode
from sardonyx._src.proto.messages import ModelProto
from sardonyx._src.proto.wire import Limits


@runtime_checkable
class Serializable(Protocol):
    """An object of another library that can write itself in the binary form, as `onnx.ModelProto`."""

    def SerializeToString(self) -> bytes: ...


TEXTS = (".json", ".onnxtxt", ".txt")  # how the names of files in text forms end
Path_: TypeAlias = str | os.PathLike[str]
Source: TypeAlias = "Path_ | bytes | bytearray | memoryview | BinaryIO | Serializable | ModelProto | Model"


def load(
    source: Source,
    *,
    policy: Policy | str = Policy.HUB,
    base: Path_ | None = None,
    operator_sets: Iterable[SetSource] = (),
    limits: Limits | None = None,
    copy: bool = False,
) -> Model:
    """The model that `source` holds: a path, bytes, a binary file object, a record, or an object with
    `SerializeToString`; a Model is handed back as it is.

    Paths that end in `.json` are read as protobuf's JSON mapping, those in `.onnxtxt` or `.txt` as ONNX text.
    Weights stay views of the memory-mapped file.  `policy` says which links external data may lie behind, `base`
    where it lies when that is not the model's own folder, and `copy` reads it into memory instead of mapping it.
    `operator_sets` are operator-set documents whose functions serve models that import their domains.
    What was mended on the way stands on `Model.notes`.

    Raises DecodeError, TextError or JsonError for data that are not a model's, InvalidModel for records that
    cannot be a graph, LimitError beyond `limits`, OSError for files that cannot be read, and TypeError for a source
    of another kind.
    """
    if isinstance(source, Model):
        model = source
    else:
        with without_collection():
            model = model_from(source, Policy(policy), base, limits, copy)
    return with_operator_sets(model, operator_sets) if operator_sets else model


def model_from(
    source: Source, policy: Policy, base: Path_ | None, limits: Limits | None, copy: bool
) -> Model:
    """The model; its records are gone when this returns."""
    record, path = read(source, limits)
    folder = path if base is None else Path(base) / "model"
    files = ExternalFiles(folder, policy, copy=copy)
    model = from_proto.model(record, files)
    model.notes += [Note("external_data", text) for text in files.notes]
    return model


@contextmanager
def without_collection() -> Iterator[None]:
    """Keeps the cycle collector from walking, again and again, the many objects of a graph that is being made."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def read(source: Source, limits: Limits | None = None) -> tuple[ModelProto, Path | None]:
    """The record of a model and the file that it stands in, if any."""
    if isinstance(source, ModelProto):
        return source, None
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return read_file(path, limits), path
    if isinstance(source, Serializable):
        return decode(source.SerializeToString(), ModelProto, limits), None
    if isinstance(source, bytes | bytearray | memoryview):
        return decoded(source, limits), None
    if isinstance(source, Model) or not hasattr(source, "read"):
        wanted = "a path, bytes, a binary file object or an object with SerializeToString"
        raise TypeError(f"a model is loaded from {wanted}, not from {type(source).__name__}")
    return read_stream(source, limits)


def read_stream(source: BinaryIO, limits: Limits | None) -> tuple[ModelProto, Path | None]:
    name = getattr(source, "name", None)
    path = Path(name) if isinstance(name, str) else None
    data: object = source.read()
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError("the file object is not open for bytes; open it in binary mode, or use sx.from_text")
    if not data:
        raise InvalidModel(f"{path or 'the file'} is empty")
    return decoded(data, limits, str(path or "")), path


def read_file(path: Path, limits: Limits | None) -> ModelProto:
    """The record in a file; the binary form is mapped, not read."""
    if path.is_dir():
        raise InvalidModel(f"{path} is a directory: name the model file in it")
    if path.suffix == ".json":
        from sardonyx._src.proto.json import from_json

        return from_json(read_text(path), ModelProto)
    if path.suffix in (".onnxtxt", ".txt"):
        from sardonyx._src.proto.text import from_text

        return from_text(read_text(path), ModelProto, source=str(path))
    return decoded(mapped(path), limits, str(path))


def decoded(
    data: bytes | bytearray | memoryview | mmap.mmap, limits: Limits | None, source: str = ""
) -> ModelProto:
    try:
        return decode(data, ModelProto, limits, source=source)
    except DecodeError as error:
        why = error.why + hint(bytes(data[:64]))
        raise DecodeError(why, offset=error.offset, path=error.path, source=source) from None


def mapped(path: Path) -> mmap.mmap | bytes:
    """The bytes of a file, mapped where it is a regular one; a device, which may have no end, is refused."""
    with path.open("rb") as file:
        found = os.fstat(file.fileno())
        if stat.S_ISCHR(found.st_mode) or stat.S_ISBLK(found.st_mode):
            raise InvalidModel(f"{path} is a device: name a file, or - for standard input")
        if found.st_size == 0:
            data = file.read()  # a pipe says nothing of its length
            if not data:
                raise InvalidModel(f"{path} is empty")
            return data
        try:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, io.UnsupportedOperation):
            return file.read()


def hint(start: bytes) -> str:
    """What the user may have meant by data that begin so and are not in the binary form."""
    if start.startswith(b"version https://git-lfs"):
        return "; this is a Git LFS pointer: fetch the file itself"
    if start.lstrip().startswith(b"<") or (start.isascii() and b"\x00" not in start and b"\n" in start):
        return (
            "; this looks like text: ONNX text is read from files that end in .onnxtxt, and by sx.from_text"
        )
    return ""
