"""SX604 declaration-without-version: an operator of an operator-set document does not say since when it exists.

Clause: onnx-operators.proto, OperatorProto.since_version; IR.md, "Operators"
Catalogue: OPD-05
Why:    name and version identify an operator.
Bad:    operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "com.example", opset_version: 1, operator: [{op_type: "F"}]}
Good:   operator-set {magic: "ONNXOPSET", ir_version: 10, domain: "com.example", opset_version: 1, operator: [{op_type: "F", since_version: 1}]}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import OperatorProto


@rule("SX604", visits=OperatorProto)
def declaration_without_version(one: OperatorProto, context: Context) -> Iterator[Finding]:
    if one.since_version < 1:
        says = (
            f"since_version is {one.since_version}"
            if one.has("since_version")
            else "since_version is missing"
        )
        yield Finding("since_version", says, "state the version of the set that introduced it")
