"""drop-unknown-key: drops keys of external data that ONNX does not define and readers ignore.

Leaves: keys that look misspelled.
"""

from __future__ import annotations

from sardonyx._src.check.analysis.external_data import EXTERNAL_DATA_KEYS
from sardonyx._src.check.fixing.api import Violation, fix
from sardonyx._src.proto.messages import StringStringEntryProto
from sardonyx._src.suggestions import did_you_mean


@fix("SX347")
def drop_unknown_key(violation: Violation) -> str:
    entries, index = violation.entry()
    entry = entries[index]
    assert isinstance(entry, StringStringEntryProto), "the path leads to an entry of external_data"
    if did_you_mean(entry.key[:100].lower(), list(EXTERNAL_DATA_KEYS)):
        return ""
    del entries[index]
    return f"dropped the entry {entry.key[:100]!r}"
