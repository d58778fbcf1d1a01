"""SX624 stored-keys-elsewhere: keys of a stored map are in the field of the other type.

Clause: onnx-data.proto, MapProto.keys, string_keys
Catalogue: DAT-03
Why:    integers are stored in keys, strings in string_keys.
Bad:    map {key_type: 7, string_keys: ["a"], values: {elem_type: 1, tensor_values: [float[1] {1}]}}
Good:   map {key_type: 8, string_keys: ["a"], values: {elem_type: 1, tensor_values: [float[1] {1}]}}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.names import element_type
from sardonyx._src.dtypes import DataType
from sardonyx._src.proto.messages import MapProto


@rule("SX624", visits=MapProto, suppressed_by="SX623")
def check_stored_keys_elsewhere(stored: MapProto, context: RuleContext) -> Iterator[Finding]:
    wrong = "keys" if stored.key_type == DataType.STRING else "string_keys"
    if stored.has(wrong) and len(getattr(stored, wrong)):
        message = f"{wrong} has entries, but key_type is {element_type(stored.key_type)}"
        yield Finding("", message, "correct key_type or the field")
