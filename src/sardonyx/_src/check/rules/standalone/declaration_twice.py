"""SX606 declaration-twice: an operator-set document declares an operator or function twice.

Clause: IR.md, "Operators"; onnx-operators.proto, OperatorSetProto
Catalogue: OPD-07
Why:    name and version, and the overload of a function, identify one definition.
Bad:    operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "com.example", opset_version: 1,
                      operator: [{op_type: "F", since_version: 1}, {op_type: "F", since_version: 1}]}
Good:   operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "com.example", opset_version: 1,
                      operator: [{op_type: "F", since_version: 1}, {op_type: "G", since_version: 1}]}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine.api import Finding, rule
from sardonyx._src.check.engine.context import RuleContext
from sardonyx._src.proto.messages import OperatorSetProto
from sardonyx._src.proto.record import brief


@rule("SX606", visits=OperatorSetProto)
def check_declaration_twice(document: OperatorSetProto, context: RuleContext) -> Iterator[Finding]:
    first: dict[tuple[object, ...], str] = {}
    places: list[tuple[str, tuple[str, object]]]
    places = [(f"operator[{i}]", (o.op_type, o.since_version)) for i, o in enumerate(document.operator)]
    places += [(f"functions[{i}]", (f.name, f.overload)) for i, f in enumerate(document.functions)]
    for path, identity in places:
        other = first.setdefault((path.partition("[")[0], *identity), path)
        if other != path:
            yield Finding(path, f"{other} is also {brief(identity[0])}", "keep one of the two")
