"""keep-highest-import: keeps the highest of several imported versions of an operator set, which is the one that binds."""

from __future__ import annotations

from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.proto.messages import OperatorSetIdProto
from sardonyx._src.schema import canonical


@fix("SX035")
def keep_highest_import(violation: Violation) -> str:
    return merge(violation)


@fix("SX036")
def keep_one_name(violation: Violation) -> str:
    return merge(violation)


def merge(violation: Violation) -> str:
    """Merges an import into the first one of its set."""
    entries, index = violation.entry()
    opset, first = entries[index], violation.fix_pass.first(entries, domain_of(entries[index]), domain_of)
    assert isinstance(opset, OperatorSetIdProto), "the path leads to an import"
    if first is None or first >= index:
        return ""
    other = entries[first]
    assert isinstance(other, OperatorSetIdProto), "all of them are imports"
    other.version = max(other.version, opset.version)
    del entries[index]
    return f"dropped the import of version {opset.version}: {other.version} is the highest, which binds"


def domain_of(entry: object) -> str:
    assert isinstance(entry, OperatorSetIdProto), "all of them are imports"
    return canonical(entry.domain)
