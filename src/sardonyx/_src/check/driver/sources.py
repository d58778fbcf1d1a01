"""Sources of documents: determines the kind of document and decodes its record."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO, Literal, Protocol, TypeAlias, cast, get_args

from sardonyx._src.arguments import require_choice, require_path, type_name
from sardonyx._src.errors import DecodeError, TextError
from sardonyx._src.io.loading.file_formats import FileData, explain_failure, require_model
from sardonyx._src.io.loading.load import PathSource, Serializable, map_or_read, read_stream
from sardonyx._src.io.regular_files import open_regular, read_regular
from sardonyx._src.io.serde import to_proto
from sardonyx._src.ir import Model
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import chunks, decode
from sardonyx._src.proto.record import Record
from sardonyx._src.proto.wire import Limits

Source: TypeAlias = "PathSource | bytes | bytearray | memoryview | BinaryIO | Serializable | Record | Model"
DocumentKind = Literal["model", "operator-set", "tensor", "sequence", "map", "optional"]
RECORD_CLASSES: dict[DocumentKind, type[Record]] = {
    "model": m.ModelProto,
    "operator-set": m.OperatorSetProto,
    "tensor": m.TensorProto,
    "sequence": m.SequenceProto,
    "map": m.MapProto,
    "optional": m.OptionalProto,
}
KINDS_BY_CLASS_NAME = {
    message.__name__: kind for kind, message in RECORD_CLASSES.items()
}  # the onnx package has the same names
OPERATOR_SET_PREFIX = b"\x0a\x09ONNXOPSET"  # field 1 of an OperatorSetProto
assert set(get_args(DocumentKind)) == set(RECORD_CLASSES)


class DataDecoder(Protocol):
    """A function that decodes data to a record; kind: None if the data themselves determine it."""

    def __call__(self, data: FileData, kind: DocumentKind | None, limits: Limits | None, /) -> Record: ...


def read(
    source: Source, kind: DocumentKind | None, limits: Limits | None, decoder: DataDecoder | None = None
) -> tuple[Record, Path | None]:
    """Returns the record and its file, if any.

    decoder: the function that decodes data; by default `decode_as`.

    Raises DecodeError, TextError, JsonError and LimitError for documents that do not decode, OSError for files that
    cannot be read, TypeError for an object that is not a document, InvalidModel for a record with a value that its
    field cannot hold.
    """
    decode_data = decoder or decode_as
    if kind is not None:
        require_choice("kind", kind, list(RECORD_CLASSES))
    if isinstance(source, Record):
        if type(source) not in RECORD_CLASSES.values():
            raise TypeError(
                f"a document must be one of {', '.join(RECORD_CLASSES)}; got a {type(source).__name__}"
            )
        return validate_record(source), None
    if isinstance(source, Model):
        return validate_record(to_proto.model(source)), None
    if isinstance(source, str | os.PathLike):
        require_path("source", source)
        path = Path(source)
        return read_file(path, kind, limits, decode_data), path
    if isinstance(source, Serializable):
        return decode_data(
            source.SerializeToString(), kind or KINDS_BY_CLASS_NAME.get(type(source).__name__), limits
        ), None
    if isinstance(source, bytes | bytearray | memoryview):
        return decode_data(bytes(source) if isinstance(source, bytearray) else source, kind, limits), None
    if not hasattr(source, "read"):
        raise TypeError(
            f"the source must be a path, bytes, a file, a model or a record; got {type_name(source)}"
        )
    return decode_data(read_stream(source)[0], kind, limits), None


def validate_record(record: Record) -> Record:
    """Checks that every value fits its field, clears fields that are set to None, and returns the record."""
    chunks(record)  # raises if a value does not fit
    stack = [record]
    while stack:
        current = stack.pop()
        values = current.__dict__
        for name in [name for name, value in values.items() if value is None]:
            current.clear(name)
        for field, value in current.present():
            if field.message is not None:
                stack += cast("list[Record]", value if field.repeated else [value])
    return record


def decode_as(data: FileData, kind: DocumentKind | None, limits: Limits | None) -> Record:
    """The record in encoded data.

    Raises LimitError, and DecodeError, which names the format of data that have another known format.
    """
    try:
        record = decode(data, message_in(data, kind), limits)
    except DecodeError as error:
        raise explain_failure(error, data) from None
    if isinstance(record, m.ModelProto):
        require_model(record, data)
    return record


def message_in(data: FileData, kind: DocumentKind | None) -> type[Record]:
    """The class of the record in encoded data: the class of the kind or, for None, the class that the first bytes determine."""
    if kind is None:
        kind = "operator-set" if data[: len(OPERATOR_SET_PREFIX)] == OPERATOR_SET_PREFIX else "model"
    return RECORD_CLASSES[kind]


def read_file(
    path: Path, kind: DocumentKind | None, limits: Limits | None, decode_data: DataDecoder
) -> Record:
    """The record in a file; the suffixes `.json`, `.onnxtxt` and `.txt` select text formats, all others binary."""
    message = RECORD_CLASSES[kind or attribute_type_of(path)]
    if path.suffix == ".json":
        # Text formats are rare, and their parsers slow to load.
        from sardonyx._src.proto.json import from_json

        return from_json(text_of(path), message)
    if path.suffix in (".onnxtxt", ".txt"):
        from sardonyx._src.proto.text import from_text

        return from_text(text_of(path), message, source=str(path))
    with open_regular(path) as file:
        if stat.S_ISREG((status := os.fstat(file.fileno())).st_mode) and status.st_size == 0:
            return decode(b"", message)
    data = map_or_read(path)
    return decode_data(data, kind or ("tensor" if path.suffix == ".pb" else None), limits)


def text_of(path: Path) -> str:
    data = read_regular(path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise TextError("these bytes are not UTF-8", line=line, column=column, source=str(path)) from None


def attribute_type_of(path: Path) -> DocumentKind:
    """The kind of a file whose first bytes do not determine it: a stored tensor for `.pb`, a model for all others."""
    return "tensor" if path.suffix == ".pb" else "model"
