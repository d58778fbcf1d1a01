"""keep-highest-import: of several imports of one operator set the highest version is kept, which is the one that binds."""

from __future__ import annotations

from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.proto.messages import OperatorSetIdProto
from sardonyx._src.schema import canonical


@fix("SX035")
def keep_highest_import(fault: Fault) -> str:
    return merge(fault)


@fix("SX036")
def keep_one_name(fault: Fault) -> str:
    return merge(fault)


def merge(fault: Fault) -> str:
    """Merges an import into the first one of its set."""
    entries, index = fault.entry()
    one, first = entries[index], fault.round.first(entries, domain_of(entries[index]), domain_of)
    assert isinstance(one, OperatorSetIdProto), "the path leads to an import"
    if first is None or first >= index:
        return ""
    other = entries[first]
    assert isinstance(other, OperatorSetIdProto), "all of them are imports"
    other.version = max(other.version, one.version)
    del entries[index]
    return f"dropped the import of version {one.version}: {other.version} is the highest, which binds"


def domain_of(entry: object) -> str:
    assert isinstance(entry, OperatorSetIdProto), "all of them are imports"
    return canonical(entry.domain)
