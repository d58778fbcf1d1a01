"""SX625 stored-counts-differ: a stored map has different numbers of keys and values.

Clause: onnx-data.proto, MapProto
Catalogue: DAT-04
Why:    keys and values are matched by position.
Bad:    map {key_type: 7, keys: [1, 2], values: {elem_type: 1, tensor_values: [float[1] {1}]}}
Good:   map {key_type: 7, keys: [1], values: {elem_type: 1, tensor_values: [float[1] {1}]}}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.stored import VALUE_FIELDS_BY_KIND
from sardonyx._src.proto.messages import MapProto


@rule("SX625", visits=MapProto, suppressed_by="SX620 SX621 SX624")
def check_stored_counts_differ(stored: MapProto, context: RuleContext) -> Iterator[Finding]:
    keys = len(stored.keys) + len(stored.string_keys)
    values = (
        sum(len(getattr(stored.values, f"{field}s")) for field in VALUE_FIELDS_BY_KIND.values())
        if stored.values
        else 0
    )
    if keys != values:
        yield Finding("values", f"got {keys} keys and {values} values", "store a value for each key")
