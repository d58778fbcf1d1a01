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

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import FunctionProto
from sardonyx._src.proto.record import brief


@rule("SX403", visits=FunctionProto, since=8, unless="SX056")
def function_attribute_twice(function: FunctionProto, context: Context) -> Iterator[Finding]:
    first: dict[str, str] = {}
    places = [(f"attribute[{i}]", name) for i, name in enumerate(function.attribute)]
    places += [(f"attribute_proto[{i}]", one.name) for i, one in enumerate(function.attribute_proto)]
    for at, name in places:
        if name and first.setdefault(name, at) != at:
            yield Finding(at, f"{brief(name)} is declared by {first[name]}, too", "keep one of the two")
