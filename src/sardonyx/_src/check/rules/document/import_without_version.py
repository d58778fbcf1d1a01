"""SX033 import-without-version: an import of an operator set states no version.

Clause: onnx.proto, OperatorSetIdProto.version
Catalogue: OPS-04
Why:    the version selects the definitions of the operators.
Bad:    <opset_import: ["": 21, {domain: "com.example.ops"}]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <opset_import: ["": 21, "com.example.ops": 1]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import OperatorSetIdProto


@rule("SX033", visits=OperatorSetIdProto, suppressed_by="SX003")
def check_import_without_version(opset: OperatorSetIdProto, context: RuleContext) -> Iterator[Finding]:
    if not opset.has("version"):
        yield Finding("", f"the import of {opset.domain or 'ai.onnx'!r} has no version", "state the version")
