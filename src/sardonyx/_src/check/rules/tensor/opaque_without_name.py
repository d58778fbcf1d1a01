"""SX366 opaque-without-name: an opaque type has no name.

Clause: ONNXTypes.md, "Opaque"; onnx.proto, TypeProto.Opaque
Catalogue: TYP-08
Why:    opaque types are distinguished by domain and name.  Before IR version 14 the name was optional.
Bad:    <ir_version: 14> g (opaque() x) => (float[2] y) { y = Constant <value = float[2] {1, 2}> () }
Good:   <ir_version: 14> g (opaque("com.example", "Tree") x) => (float[2] y) { y = Constant <value = float[2] {1, 2}> () }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, Severity, rule
from sardonyx._src.proto.messages import TypeProtoOpaque


@rule("SX366", visits=TypeProtoOpaque)
def check_opaque_without_name(type_: TypeProtoOpaque, context: RuleContext) -> Iterator[Finding]:
    if not type_.name:
        severity: Severity = "error" if context.ir_version >= 14 else "warning"
        yield Finding("name", "the opaque type has no name", "name it", severity)
