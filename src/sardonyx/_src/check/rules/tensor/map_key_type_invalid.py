"""SX362 map-key-type-invalid: the keys of a map type are neither integers nor strings.

Clause: onnx.proto, TypeProto.Map.key_type
Catalogue: TYP-03
Why:    keys are integers of 8 to 64 bits, or strings.
Bad:    <opset_import: ["": 21, "ai.onnx.ml": 1]> g (map(float, float) x) => (float[1, 2] y) { y = ai.onnx.ml.CastMap (x) }
Good:   <opset_import: ["": 21, "ai.onnx.ml": 1]> g (map(int64, float) x) => (float[1, 2] y) { y = ai.onnx.ml.CastMap (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.check.records.names import KEY_TYPES, element_type
from sardonyx._src.proto.messages import TypeProtoMap


@rule("SX362", visits=TypeProtoMap)
def check_map_key_type_invalid(type_: TypeProtoMap, context: RuleContext) -> Iterator[Finding]:
    if type_.key_type not in KEY_TYPES:
        message = f"key_type is {element_type(type_.key_type)}" if type_.key_type else "key_type is missing"
        yield Finding("key_type", message, "use INT64 or STRING, or another integer of 8 to 64 bits")
