"""What is checked: which kind of document it is, and its record."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias, cast, get_args

from sardonyx._src.errors import DecodeError, TextError
from sardonyx._src.io import to_proto
from sardonyx._src.io.load import Path_, Serializable, hint, mapped
from sardonyx._src.ir.graph import Model
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import chunks, decode
from sardonyx._src.proto.record import Payload, Record
from sardonyx._src.proto.wire import Buffer, Limits

Source: TypeAlias = "Path_ | bytes | bytearray | memoryview | BinaryIO | Serializable | Record | Model"
DocumentKind = Literal["model", "operator-set", "tensor", "sequence", "map", "optional"]
KINDS: dict[DocumentKind, type[Record]] = {
    "model": m.ModelProto,
    "operator-set": m.OperatorSetProto,
    "tensor": m.TensorProto,
    "sequence": m.SequenceProto,
    "map": m.MapProto,
    "optional": m.OptionalProto,
}
NAMED = {message.__name__: kind for kind, message in KINDS.items()}  # as the onnx package names them, too
MAGIC = b"\x0a\x09ONNXOPSET"  # field 1 of an OperatorSetProto
assert set(get_args(DocumentKind)) == set(KINDS)


def read(source: Source, kind: DocumentKind | None, limits: Limits | None) -> tuple[Record, Path | None]:
    """The record and the file that it stands in.

    Raises DecodeError, TextError, JsonError and LimitError for what does not decode, OSError for files that
    cannot be read, ValueError for an object that is no document, InvalidModel for a record with a value that its
    field cannot hold.
    """
    if isinstance(source, Record):
        if type(source) not in KINDS.values():
            raise ValueError(
                f"a {type(source).__name__} cannot be checked alone; wanted one of {', '.join(KINDS)}"
            )
        return held(source), None
    if isinstance(source, Model):
        return held(to_proto.model(source)), None
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        return read_file(path, kind, limits), path
    if isinstance(source, Serializable):
        return decoded(source.SerializeToString(), kind or NAMED.get(type(source).__name__), limits), None
    if isinstance(source, bytes | bytearray | memoryview):
        return decoded(bytes(source) if isinstance(source, bytearray) else source, kind, limits), None
    if not hasattr(source, "read"):
        raise ValueError(f"{type(source).__name__} is no model; wanted a path, bytes, a file or a record")
    return decoded(source.read(), kind, limits), None


def held(record: Record) -> Record:
    """The record, once every value in it is one that its field can hold; what is set to None, and so not set, is cleared."""
    chunks(record)  # which raises where one does not fit
    stack = [record]
    while stack:
        one = stack.pop()
        values = one.__dict__
        for name in [name for name, value in values.items() if value is None]:
            one.clear(name)
        for field, value in one.present():
            if field.message is not None:
                stack += cast("list[Record]", value if field.repeated else [value])
    return record


def decoded(data: Payload | Buffer, kind: DocumentKind | None, limits: Limits | None) -> Record:
    if kind is None:
        kind = "operator-set" if data[: len(MAGIC)] == MAGIC else "model"
    try:
        return decode(data, KINDS[kind], limits)
    except DecodeError as error:
        raise DecodeError(error.why + hint(bytes(data[:64])), offset=error.offset, path=error.path) from None


def read_file(path: Path, kind: DocumentKind | None, limits: Limits | None) -> Record:
    """The record in a file, by its suffix: `.json`, `.onnxtxt` and `.txt`, else the binary form."""
    message = KINDS[kind or kind_of(path)]
    if path.suffix == ".json":
        # The text forms are rare, and their parsers take time to load.
        from sardonyx._src.proto.json import from_json

        return from_json(text_of(path), message)
    if path.suffix in (".onnxtxt", ".txt"):
        from sardonyx._src.proto.text import from_text

        return from_text(text_of(path), message, source=str(path))
    if path.is_file() and path.stat().st_size == 0:
        return decode(b"", message)
    data = mapped(path)
    return decoded(data, kind or ("tensor" if path.suffix == ".pb" else None), limits)


def text_of(path: Path) -> str:
    data = path.read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise TextError("these bytes are not UTF-8", line=line, column=column, source=str(path)) from None


def kind_of(path: Path) -> DocumentKind:
    """What a file without a magic holds, by its name: `.pb` is a stored tensor, all others models."""
    return "tensor" if path.suffix == ".pb" else "model"
