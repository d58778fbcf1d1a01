"""drop-repeated-entry: keeps one of two equal entries in a list.

Leaves: different entries with the same key or name, since either may be intended.
"""

from __future__ import annotations

from collections.abc import Hashable

from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.proto.messages import SparseTensorProto
from sardonyx._src.proto.record import Record

LABEL_FIELDS = ("name", "key", "domain", "op_type", "overload", "since_version")


@fix("SX020 SX103 SX108 SX235 SX349 SX400 SX403 SX502 SX513 SX530 SX531 SX606")
def drop_repeated_entry(violation: Violation) -> str:
    """Compares with the first entry of the same key or name."""
    entries, index = violation.entry()
    first = violation.fix_pass.first(entries, label(entries[index]), label)
    if first is None or first >= index or entries[first] != entries[index]:
        return ""
    del entries[index]
    return f"dropped it: entry {first} of the list is the same"


def label(entry: object) -> Hashable:
    """The key or name by which entries are compared."""
    if isinstance(entry, SparseTensorProto) and entry.values is not None:
        return entry.values.name
    return (
        tuple(getattr(entry, name, None) for name in LABEL_FIELDS)
        if isinstance(entry, Record)
        else str(entry)
    )
