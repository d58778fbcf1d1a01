"""SX349 external-key-twice: external data have a duplicate key.

Clause: onnx.proto, StringStringEntryProto, TensorProto.external_data
Catalogue: EXT-11
Why:    the list represents a map; which of the two values applies depends on the reader.
Bad:    file w.bin 16
        g () => (float[2] y) <float[2] y = ["location": "w.bin", "length": "8", "length": "8"]> {}
Good:   file w.bin 16
        g () => (float[2] y) <float[2] y = ["location": "w.bin", "length": "8"]> {}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import TensorProto
from sardonyx._src.proto.record import brief


@rule("SX349", visits=TensorProto, needs="external_data")
def check_external_key_twice(tensor: TensorProto, context: RuleContext) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for i, entry in enumerate(tensor.external_data):
        if first.setdefault(entry.key, i) != i:
            message = f"the key {brief(entry.key)} duplicates that of external_data[{first[entry.key]}]"
            yield Finding(f"external_data[{i}].key", message, "keep one of the two entries")
