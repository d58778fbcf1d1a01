"""Operator-set documents read, and made to serve the models that import their domains."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO, TypeAlias

from sardonyx._src.errors import InvalidModel
from sardonyx._src.io import from_proto
from sardonyx._src.io.external import ExternalFiles, Policy
from sardonyx._src.io.graphs_proto import domain_of
from sardonyx._src.io.text_files import read_text
from sardonyx._src.ir.graph import Model, Note
from sardonyx._src.ir.operator_set import OperatorDeclaration, OperatorSet, OperatorStatus
from sardonyx._src.proto.binary import decode
from sardonyx._src.proto.messages import OperatorProto, OperatorSetProto

MAGIC = "ONNXOPSET"
SetSource: TypeAlias = "str | os.PathLike[str] | bytes | BinaryIO | OperatorSet"


def load_operator_set(source: SetSource) -> OperatorSet:
    """The operator set that a document holds: a path (`.onnxtxt` and `.txt` are text), bytes or a binary file.

    Raises DecodeError or TextError for other data, InvalidModel for a document without its magic or its versions.
    """
    if isinstance(source, OperatorSet):
        return source
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if path.suffix in (".onnxtxt", ".txt"):
            from sardonyx._src.proto.text import from_text

            return operator_set_from(from_text(read_text(path), OperatorSetProto, source=str(path)))
        return operator_set_from(decode(path.read_bytes(), OperatorSetProto, source=str(path)))
    data = source if isinstance(source, bytes) else source.read()
    return operator_set_from(decode(data, OperatorSetProto))


def operator_set_from(record: OperatorSetProto) -> OperatorSet:
    """The operator set of a record."""
    if record.magic != MAGIC:
        raise InvalidModel(f"the magic is {record.magic!r}, which should be {MAGIC!r}", location="magic")
    if not record.has("opset_version"):
        raise InvalidModel("the operator set states no version", location="opset_version")
    result = OperatorSet(domain_of(record), record.opset_version, record.ir_version)
    result.ir_version_prerelease = record.ir_version_prerelease
    result.ir_build_metadata = record.ir_build_metadata
    result.doc = record.doc_string
    result.operators = [declaration_from(one, i) for i, one in enumerate(record.operator)]
    notes: list[Note] = []
    files = ExternalFiles(None, Policy.STRICT)
    for i, function in enumerate(record.functions):
        where = f"functions[{i}] {function.name!r}"
        result.functions.append(from_proto.function(function, files, notes, where))
        result.functions[-1].domain = result.functions[-1].domain or result.domain
    result.unknown = record.unknown or None
    return result


def declaration_from(record: OperatorProto, index: int) -> OperatorDeclaration:
    if not record.op_type:
        raise InvalidModel("the operator has no name", location=f"operator[{index}]")
    if record.status not in set(OperatorStatus):
        raise InvalidModel(f"{record.status} is no status of an operator", location=f"operator[{index}]")
    status = OperatorStatus(record.status)
    return OperatorDeclaration(record.op_type, record.since_version, status, record.doc_string)


def with_operator_sets(model: Model, sources: Iterable[SetSource]) -> Model:
    """The model with the functions of those sets whose domains it or one of its functions imports.

    Its own functions come first.  Raises InvalidModel where it imports another version of a set.
    """
    waiting = [load_operator_set(source) for source in sources]
    while ready := [one for one in waiting if is_imported(one, model)]:
        for one in ready:
            waiting.remove(one)
            for function in one.functions:
                model.functions.setdefault(function.key, function)
    from_proto.refuse_recursion(model)
    return model


def is_imported(one: OperatorSet, model: Model) -> bool:
    """Whether the model or one of its functions imports the set; raises InvalidModel for another version of it."""
    importers = (model.opset_imports, *(f.opset_imports for f in model.functions.values()))
    imported = {imports[one.domain] for imports in importers if one.domain in imports}
    if others := imported - {one.version}:
        what = f"the document is version {one.version} of {one.domain!r}; the model imports {min(others)}"
        raise InvalidModel(what, location="operator_sets")
    return bool(imported)
