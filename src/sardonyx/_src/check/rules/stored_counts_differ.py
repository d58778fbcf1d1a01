"""SX625 stored-counts-differ: a stored map has not as many values as keys.

Clause: onnx-data.proto, MapProto
Catalogue: DAT-04
Why:    keys and values belong together by position.
Bad:    map {key_type: 7, keys: [1, 2], values: {elem_type: 1, tensor_values: [float[1] {1}]}}
Good:   map {key_type: 7, keys: [1], values: {elem_type: 1, tensor_values: [float[1] {1}]}}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.stored import ELEMENTS
from sardonyx._src.proto.messages import MapProto


@rule("SX625", visits=MapProto, unless="SX620 SX621 SX624")
def stored_counts_differ(stored: MapProto, context: Context) -> Iterator[Finding]:
    keys = len(stored.keys) + len(stored.string_keys)
    values = (
        sum(len(getattr(stored.values, f"{field}s")) for field in ELEMENTS.values()) if stored.values else 0
    )
    if keys != values:
        yield Finding("values", f"{keys} keys, {values} values", "store a value for each key")
