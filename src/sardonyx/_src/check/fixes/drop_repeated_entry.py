"""drop-repeated-entry: an entry that stands twice in a list, the same both times, is kept once.

Leaves: entries of one key or name that differ, as nobody can tell which one is meant.
"""

from __future__ import annotations

from collections.abc import Hashable

from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.proto.messages import SparseTensorProto
from sardonyx._src.proto.record import Record

LABELS = ("name", "key", "domain", "op_type", "overload", "since_version")


@fix("SX020 SX103 SX108 SX235 SX349 SX400 SX403 SX502 SX513 SX530 SX531 SX606")
def drop_repeated_entry(fault: Fault) -> str:
    """Goes by the first entry of the same key or name."""
    entries, index = fault.entry()
    first = fault.round.first(entries, label(entries[index]), label)
    if first is None or first >= index or entries[first] != entries[index]:
        return ""
    del entries[index]
    return f"dropped it: entry {first} of the list is the same"


def label(entry: object) -> Hashable:
    """What entries have in common that could be the same."""
    if isinstance(entry, SparseTensorProto) and entry.values is not None:
        return entry.values.name
    return tuple(getattr(entry, name, None) for name in LABELS) if isinstance(entry, Record) else str(entry)
