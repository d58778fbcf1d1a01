"""SX403 function-attribute-twice: a function declares an attribute twice.

Clause: IR.md, "Functions"; onnx.proto, FunctionProto.attribute, attribute_proto
Catalogue: FUN-04
Why:    an attribute is declared once, either without default or with one.
Bad:    <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F <a = 0> (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a, a: int = 0> (v) => (w) { w = Softmax <axis: int = @a> (v) }
Good:   <opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F <a = 0> (x) }
        <domain: "com.example", opset_import: ["": 21]> F <a: int = 0> (v) => (w) { w = Softmax <axis: int = @a> (v) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import FunctionProto
from sardonyx._src.proto.record import brief


@rule("SX403", visits=FunctionProto, since=8, suppressed_by="SX056")
def check_function_attribute_twice(function: FunctionProto, context: RuleContext) -> Iterator[Finding]:
    first: dict[str, str] = {}
    places = [(f"attribute[{i}]", name) for i, name in enumerate(function.attribute)]
    places += [
        (f"attribute_proto[{i}]", attribute.name) for i, attribute in enumerate(function.attribute_proto)
    ]
    for path, name in places:
        if name and first.setdefault(name, path) != path:
            yield Finding(path, f"{brief(name)} is also declared by {first[name]}", "keep one of the two")
