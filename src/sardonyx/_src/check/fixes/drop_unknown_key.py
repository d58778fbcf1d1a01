"""drop-unknown-key: keys of external data that ONNX does not define, and that readers ignore, are dropped.

Leaves: keys that look like misspelt ones.
"""

from __future__ import annotations

from sardonyx._src.check.external import KEYS
from sardonyx._src.check.mends import Fault, fix
from sardonyx._src.check.names import did_you_mean
from sardonyx._src.proto.messages import StringStringEntryProto


@fix("SX347")
def drop_unknown_key(fault: Fault) -> str:
    entries, index = fault.entry()
    one = entries[index]
    assert isinstance(one, StringStringEntryProto), "the path leads to an entry of external_data"
    if did_you_mean(one.key[:100].lower(), list(KEYS)):
        return ""
    del entries[index]
    return f"dropped the entry {one.key[:100]!r}"
