"""SX606 declaration-twice: an operator-set document declares an operator or function twice.

Clause: IR.md, "Operators"; onnx-operators.proto, OperatorSetProto.operator and functions
Catalogue: OPD-07
Why:    name and version identify one operator or function, and the overload one of several functions.  A function
        has the version of its set.  An operator of an earlier version beside a function of its name is a warning, beside another
        version of the operator an info: in this version of the set the name has two definitions.
Bad:    operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "com.example", opset_version: 1,
                      operator: [{op_type: "F", since_version: 1}, {op_type: "F", since_version: 1}]}
Good:   operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "com.example", opset_version: 1,
                      operator: [{op_type: "F", since_version: 1}, {op_type: "G", since_version: 1}]}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
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
    yield from versions_of_operators(document)
    yield from functions_beside_operators(document)


def versions_of_operators(document: OperatorSetProto) -> Iterator[Finding]:
    """Operators that a set declares in several versions: IR.md allows only one, onnx-operators.proto any number."""
    first: dict[str, tuple[int, int]] = {}
    for i, operator in enumerate(document.operator):
        index, version = first.setdefault(operator.op_type, (i, operator.since_version))
        if operator.op_type and version != operator.since_version:
            message = f"operator[{index}] is also {brief(operator.op_type)}, of version {version}"
            remedy = "keep the version that this version of the set has"
            yield Finding(f"operator[{i}]", message, remedy, "info")


def functions_beside_operators(document: OperatorSetProto) -> Iterator[Finding]:
    """Functions that have the name of an operator of the document; its newest version counts."""
    operators: dict[str, tuple[int, int]] = {}  # name -> newest version, index
    for i, operator in enumerate(document.operator):
        entry = (operator.since_version, i)
        operators[operator.op_type] = max(entry, operators.get(operator.op_type, entry))
    for i, function in enumerate(document.functions):
        if not function.name or function.name not in operators:
            continue
        version, index = operators[function.name]
        is_same = version >= document.opset_version
        message = f"operator[{index}] is also {brief(function.name)}, of version {version}"
        remedy = "keep the function, or the operator"
        yield Finding(f"functions[{i}]", message, remedy, None if is_same else "warning")
