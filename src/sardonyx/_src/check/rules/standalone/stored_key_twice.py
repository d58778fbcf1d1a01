"""SX626 stored-key-twice: a stored map has a duplicate key.

Clause: onnx-data.proto, MapProto
Catalogue: DAT-05
Why:    which of the two values applies depends on the reader.
Bad:    map {key_type: 7, keys: [1, 1], values: {elem_type: 1, tensor_values: [float[1] {1}, float[1] {2}]}}
Good:   map {key_type: 7, keys: [1, 2], values: {elem_type: 1, tensor_values: [float[1] {1}, float[1] {2}]}}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import MapProto
from sardonyx._src.proto.record import brief


@rule("SX626", visits=MapProto)
def check_stored_key_twice(stored: MapProto, context: RuleContext) -> Iterator[Finding]:
    for field in ("keys", "string_keys"):
        first: dict[object, int] = {}
        for i, key in enumerate(getattr(stored, field)):
            plain = bytes(key) if field == "string_keys" else key
            if first.setdefault(plain, i) != i:
                yield Finding(
                    f"{field}[{i}]", f"{brief(plain)} is also key {first[plain]}", "keep one of the two"
                )
                return
