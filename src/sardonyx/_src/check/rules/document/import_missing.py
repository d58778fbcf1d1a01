"""SX030 import-missing: the model imports no operator set.

Clause: IR.md, "Operator Sets"; onnx.proto, ModelProto.opset_import
Catalogue: OPS-01
Why:    from IR version 3 on, the imported version of a set defines the meaning of its operators.
Bad:    {ir_version: 10, domain: "com.example", producer_name: "p", producer_version: "1",
         graph: g (float[2] x) => (float[2] y) { y = Abs(x) }}
Good:   <opset_import: ["": 21]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import ModelProto


@rule("SX030", visits=ModelProto, since=3, suppressed_by="SX003")
def check_import_missing(model: ModelProto, context: RuleContext) -> Iterator[Finding]:
    if not model.opset_import:
        help_ = "state the version of each operator set that the nodes use, such as ai.onnx 21"
        yield Finding("opset_import", "the model imports no operator set", help_)
