"""SX623 stored-key-type-invalid: the keys of a stored map are neither integers nor strings.

Clause: onnx-data.proto, MapProto.key_type
Catalogue: DAT-03
Why:    keys are integers of 8 to 64 bits, or strings.
Bad:    map {key_type: 1, values: {elem_type: 1}}
Good:   map {key_type: 7, keys: [1], values: {elem_type: 1, tensor_values: [float[1] {1}]}}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.names import KEY_TYPES, element_type
from sardonyx._src.proto.messages import MapProto


@rule("SX623", visits=MapProto)
def check_stored_key_type_invalid(stored: MapProto, context: RuleContext) -> Iterator[Finding]:
    if stored.key_type not in KEY_TYPES:
        message = f"key_type is {element_type(stored.key_type)}" if stored.key_type else "key_type is missing"
        yield Finding("key_type", message, "use INT64 or STRING, or another integer of 8 to 64 bits")
