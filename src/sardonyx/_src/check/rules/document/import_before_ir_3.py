"""SX038 import-before-ir-3: a model of IR version 1 or 2 imports operator sets.

Clause: onnx.proto, Version, IR_VERSION_2017_11_3
Catalogue: OPS-09
Why:    these versions have no imports; their models use version 1 of the ONNX set.
Bad:    <ir_version: 2, opset_import: ["": 1]> g (float[2] x) => (float[2] y) { y = Identity(x) }
Good:   {ir_version: 2, domain: "com.example", producer_name: "p", producer_version: "1",
         graph: g (float[2] x) => (float[2] y) { y = Identity(x) }}
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import ModelProto


@rule("SX038", visits=ModelProto, until=2)
def check_import_before_ir_3(model: ModelProto, context: RuleContext) -> Iterator[Finding]:
    if model.opset_import:
        message = f"IR version {model.ir_version} has no opset_import"
        yield Finding("opset_import", message, "leave the imports out, or raise ir_version to 3")
