"""Loading operator-set documents: files with an OperatorSetProto, which declares the operators of a domain.

A document may also have functions that define some of the operators.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO, TypeAlias

from sardonyx._src.arguments import require_path, type_name
from sardonyx._src.errors import DecodeError, InvalidModel
from sardonyx._src.io.external import ExternalFiles, Policy
from sardonyx._src.io.loading.file_formats import explain_failure
from sardonyx._src.io.loading.text_files import read_text
from sardonyx._src.io.regular_files import read_regular
from sardonyx._src.io.serde import from_proto
from sardonyx._src.io.serde.details import own_details
from sardonyx._src.io.serde.graphs import domain_of
from sardonyx._src.ir.model import Note
from sardonyx._src.ir.operator_set import OperatorDeclaration, OperatorSet, OperatorStatus
from sardonyx._src.proto.binary import decode
from sardonyx._src.proto.messages import OperatorProto, OperatorSetProto

OPSET_MAGIC = "ONNXOPSET"
OperatorSetSource: TypeAlias = "str | os.PathLike[str] | bytes | BinaryIO | OperatorSet"


def load_operator_set(source: OperatorSetSource) -> OperatorSet:
    """The operator set of a document: a path (`.onnxtxt` and `.txt` are text, `.json` is JSON), bytes or a binary file.

    Raises DecodeError, TextError or JsonError for other data, InvalidModel for a document without magic or version, and
    TypeError for any other kind of source.
    """
    if isinstance(source, OperatorSet):
        return source
    if isinstance(source, str | os.PathLike):
        require_path("source", source)
        path = Path(source)
        if path.suffix in (".onnxtxt", ".txt"):
            from sardonyx._src.proto.text import from_text

            return operator_set_from(from_text(read_text(path), OperatorSetProto, source=str(path)))
        if path.suffix == ".json":
            from sardonyx._src.proto.json import from_json

            return operator_set_from(from_json(read_text(path), OperatorSetProto))
        return operator_set_from(decode_operator_set(read_regular(path), str(path)))
    return operator_set_from(decode_operator_set(read_document(source)))


def read_document(source: bytes | BinaryIO) -> bytes:
    """The bytes of a document; raises TypeError for anything but bytes and binary file objects."""
    if not isinstance(source, bytes | bytearray | memoryview) and not hasattr(source, "read"):
        accepted = "a path, bytes, a binary file object or an OperatorSet"
        raise TypeError(f"the source of an operator set must be {accepted}; got {type_name(source)}")
    data: object = source.read() if hasattr(source, "read") else source
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"the file object must return bytes; got {type_name(data)}; open it in binary mode")
    return bytes(data)


def decode_operator_set(data: bytes, source: str = "") -> OperatorSetProto:
    """The record of an operator set; raises DecodeError, naming the actual format if it is known, for other data."""
    try:
        return decode(data, OperatorSetProto, source=source)
    except DecodeError as error:
        raise explain_failure(error, data, source) from None


def operator_set_from(record: OperatorSetProto) -> OperatorSet:
    """The operator set of a record."""
    if record.magic != OPSET_MAGIC:
        raise InvalidModel(f"the magic must be {OPSET_MAGIC!r}; got {record.magic!r}", location="magic")
    if not record.has("opset_version"):
        raise InvalidModel("an operator set must have a version; got none", location="opset_version")
    result = OperatorSet(domain_of(record), record.opset_version, record.ir_version)
    result.ir_version_prerelease = record.ir_version_prerelease
    result.ir_build_metadata = record.ir_build_metadata
    result.doc = record.doc_string
    result.operators = [declaration_from(declaration, i) for i, declaration in enumerate(record.operator)]
    notes: list[Note] = []
    files = ExternalFiles(None, Policy.STRICT)
    for i, function in enumerate(record.functions):
        where = f"functions[{i}] {function.name!r}"
        result.functions.append(from_proto.function(function, files, notes, where))
        result.functions[-1].domain = result.functions[-1].domain or result.domain
    result.details = own_details(record, ("magic", "ir_version", "opset_version"))
    return result


def declaration_from(record: OperatorProto, index: int) -> OperatorDeclaration:
    if not record.op_type:
        raise InvalidModel("an operator must have a name; got none", location=f"operator[{index}]")
    if record.status not in set(OperatorStatus):
        raise InvalidModel(
            f"the status of an operator must be a defined one; got {record.status}",
            location=f"operator[{index}]",
        )
    status = OperatorStatus(record.status)
    details = own_details(record, ("op_type", "since_version", "status"))
    return OperatorDeclaration(record.op_type, record.since_version, status, record.doc_string, details)
