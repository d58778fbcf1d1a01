"""Saving operator sets as documents, and the operator sets published by ONNX."""

from __future__ import annotations

import os
from pathlib import Path

from sardonyx._src.arguments import require_path, require_type
from sardonyx._src.errors import InvalidModel
from sardonyx._src.io.loading.operator_sets import OPSET_MAGIC
from sardonyx._src.io.saving.save import write_blocks
from sardonyx._src.io.saving.staging import Staging
from sardonyx._src.io.serde import to_proto
from sardonyx._src.io.serde.details import restore
from sardonyx._src.ir.operator_set import OperatorDeclaration, OperatorSet, OperatorStatus
from sardonyx._src.proto.binary import chunks
from sardonyx._src.proto.messages import OperatorProto, OperatorSetProto
from sardonyx._src.schema import (
    canonical,
    domains,
    first_ir_version,
    lookup,
    newest,
    operators,
    replacement_of,
)


def operator_set_to(operator_set: OperatorSet) -> OperatorSetProto:
    """The record of an operator set."""
    record = OperatorSetProto(
        magic=OPSET_MAGIC, ir_version=operator_set.ir_version, opset_version=operator_set.version
    )
    for name in ("domain", "ir_version_prerelease", "ir_build_metadata"):
        if getattr(operator_set, name):
            record.set(name, getattr(operator_set, name))
    if operator_set.doc:
        record.doc_string = operator_set.doc
    record.operator = [declaration_to(declaration) for declaration in operator_set.operators]
    record.functions = [to_proto.function(function) for function in operator_set.functions]
    restore(record, operator_set.details)
    return record


def declaration_to(declaration: OperatorDeclaration) -> OperatorProto:
    record = OperatorProto(
        op_type=declaration.op_type, since_version=declaration.since_version, status=int(declaration.status)
    )
    if declaration.doc:
        record.doc_string = declaration.doc
    restore(record, declaration.details)
    return record


def save_operator_set(operator_set: OperatorSet, target: str | os.PathLike[str]) -> None:
    """Writes an operator set as a document; as text if the path ends in `.onnxtxt` or `.txt`."""
    require_type("operator_set", operator_set, OperatorSet, "an OperatorSet")
    require_path("target", target)
    record = operator_set_to(operator_set)
    path = Path(target)
    pieces = chunks(record)
    if path.suffix in (".onnxtxt", ".txt"):
        from sardonyx._src.proto.text import to_text

        pieces = iter((to_text(record).encode(),))
    with Staging(str(path.parent)) as staging:
        with staging.create([path.name]) as file:
            write_blocks(file, pieces)
        staging.commit()


def onnx_operator_set(domain: str, version: int) -> OperatorSet:
    """A version of an operator set published by ONNX; raises InvalidModel if it does not exist."""
    domain = canonical(domain)
    if domain not in domains() or not 1 <= version <= newest(domain):
        known = ", ".join(f"{d or 'ai.onnx'} 1 to {newest(d)}" for d in domains())
        raise InvalidModel(f"an operator set must be one of {known}; got {domain or 'ai.onnx'} {version}")
    result = OperatorSet(domain, version, first_ir_version(domain, version))
    for name in operators(domain):
        schema = lookup(domain, name, version)
        if schema is None or (schema.deprecated and replacement_of(schema) is None):
            continue
        status = OperatorStatus.STABLE if schema.status == "common" else OperatorStatus.EXPERIMENTAL
        result.operators.append(OperatorDeclaration(name, schema.since_version, status))
    return result
