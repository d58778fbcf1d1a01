"""SX363 map-without-value: a map type does not state the type of its values.

Clause: onnx.proto, TypeProto.Map.value_type
Catalogue: TYP-04
Why:    the type of the values is unknown.
Bad:    <opset_import: ["": 21, "ai.onnx.ml": 1]> g (map(int64, ) x) => (float[1, 2] y) { y = ai.onnx.ml.CastMap (x) }
Good:   <opset_import: ["": 21, "ai.onnx.ml": 1]> g (map(int64, float) x) => (float[1, 2] y) { y = ai.onnx.ml.CastMap (x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import TypeProtoMap


@rule("SX363", visits=TypeProtoMap)
def check_map_without_value(type_: TypeProtoMap, context: RuleContext) -> Iterator[Finding]:
    if type_.value_type is None:
        yield Finding("value_type", "value_type is missing", "set the type of the values")
