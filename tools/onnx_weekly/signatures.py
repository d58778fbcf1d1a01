"""What the installed onnx package specifies, beside what we have: operators, their texts, messages and releases."""

from __future__ import annotations

import enum
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from onnx import defs, helper

import import_schemas
from import_schemas import dumps
from proto.judge import TYPES, Message, judges
from sardonyx._src.proto import messages
from sardonyx._src.schema import canonical, latest, releases
from sardonyx._src.schema.records import DEVELOPMENT_DIR, SCHEMA_DIR

REVIEWED = Path(__file__).with_name("reviewed.json")
Tables = dict[
    str, dict[str, object]
]  # the parts of messages by name, of versions of operators by `domain.Name-version`


def schemas() -> dict[str, defs.OpSchema]:
    """The schemas of the package, by the names of their versions."""
    history = defs.get_all_schemas_with_history()
    names = {f"{s.domain or 'ai.onnx'}.{s.name}-{s.since_version}": s for s in history}
    return dict(sorted(names.items()))


def our_versions() -> Tables:
    """Our records, of the released operator sets and of those under development."""
    versions: Tables = {}
    for path in (path for folder in (SCHEMA_DIR, DEVELOPMENT_DIR) for path in folder.glob("*/*.json")):
        for record in json.loads(path.read_bytes()):
            versions[f"{path.parent.name}.{path.stem}-{record['since_version']}"] = record
    return versions


def compare_operators() -> Iterator[str]:
    theirs = {name: json.loads(import_schemas.version_text(schema)) for name, schema in schemas().items()}
    yield from compare_tables(our_versions(), theirs)


def compare_messages() -> Iterator[str]:
    """Fields of messages and values of enums: their numbers and types are the format of files."""
    yield from compare_tables(our_tables(), their_tables())


def our_tables() -> Tables:
    tables: Tables = {
        message.__name__: {f.name: (f.number, f.kind, f.repeated, f.packed, f.oneof) for f in message.FIELDS}
        for message in messages.MESSAGES
    }
    enums = (e for e in vars(messages).values() if isinstance(e, type) and issubclass(e, enum.IntEnum))
    return tables | {e.__name__: {value.name: value.value for value in e} for e in enums}


def their_tables() -> Tables:
    tables: Tables = {}
    for name, message in judges().items():
        descriptor = message.DESCRIPTOR
        tables[name] = {f.name: describe(f) for f in descriptor.fields}
        for enum_type in (*descriptor.enum_types, *descriptor.file.enum_types_by_name.values()):
            outer = enum_type.containing_type.name if enum_type.containing_type else ""
            tables[outer + enum_type.name] = {value.name: value.number for value in enum_type.values}
    return tables


def describe(field: Message) -> tuple[object, ...]:
    oneof = field.containing_oneof.name if field.containing_oneof else ""
    return field.number, TYPES.get(field.type), field.is_repeated, field.is_packed, oneof


def compare_tables(
    ours: Mapping[str, Mapping[str, object]], theirs: Mapping[str, Mapping[str, object]]
) -> Iterator[str]:
    for name in sorted(ours.keys() | theirs.keys()):
        if name not in ours:
            yield f"{name} is missing"
        elif name not in theirs:
            yield f"{name} does not exist in the package"
        else:
            keys = sorted(ours[name].keys() | theirs[name].keys())
            if differing := [key for key in keys if ours[name].get(key) != theirs[name].get(key)]:
                yield f"{name} differs in {', '.join(differing)}"


def compare_releases() -> Iterator[str]:
    known = {release.name for release in releases()}
    yield from (f"release {name} is missing" for name, *_ in helper.VERSION_TABLE if name not in known)


def compare_texts() -> Iterator[str]:
    """Tables whose documentation or body is another than that which was last read."""
    reviewed: dict[str, str] = json.loads(REVIEWED.read_text())
    for name, digest in text_digests().items():
        if reviewed.get(name) != digest:
            yield f"{name} has another text or body than the one that was read"


def text_digests() -> dict[str, str]:
    return {name: digest(schema) for name, schema in schemas().items()}


def digest(schema: defs.OpSchema) -> str:
    """Of everything that a person reads of a version: texts of the operator and its parameters, and its body."""
    parameters = [*schema.inputs, *schema.outputs, *schema.attributes.values(), *schema.type_constraints]
    texts = [schema.doc, *(parameter.description for parameter in parameters)]
    body = schema.function_body.SerializeToString(deterministic=True) if schema.has_function else b""
    return hashlib.sha256("\n".join(texts).encode() + body).hexdigest()[:12]


def write() -> None:
    """Takes over the versions under development, and notes that all texts were read."""
    new: dict[Path, list[defs.OpSchema]] = {}
    for schema in schemas().values():
        if schema.since_version > latest(schema.domain):
            path = DEVELOPMENT_DIR / (schema.domain or "ai.onnx") / f"{schema.name}.json"
            new.setdefault(path, []).append(schema)
    for path in set(DEVELOPMENT_DIR.glob("*/*.json")) - new.keys():
        path.unlink()
    for path, versions in new.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(import_schemas.operator_text(versions), encoding="utf-8")
    ahead = {
        domain or "ai.onnx": newest
        for domain, (_, newest) in sorted(defs.C.schema_version_map().items())
        if newest > latest(canonical(domain))
    }
    (DEVELOPMENT_DIR / "domains.json").write_text(json.dumps(ahead, indent=2) + "\n", encoding="utf-8")
    lines = ",\n".join(f"  {dumps(name)}: {dumps(digest)}" for name, digest in text_digests().items())
    REVIEWED.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
