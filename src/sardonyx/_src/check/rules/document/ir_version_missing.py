"""SX010 ir-version-missing: the model does not state the version of the format that it follows.

Clause: onnx.proto, ModelProto.ir_version; Versioning.md, "IR versioning"
Catalogue: MOD-01
Why:    the version determines which features exist and what they mean; 0 is not a version.
Bad:    {domain: "com.example", producer_name: "p", producer_version: "1", opset_import: [21],
         graph: g (float[2] x) => (float[2] y) { y = Abs(x) }}
Good:   <ir_version: 10> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.io.serde.from_proto import LATEST_IR_VERSION
from sardonyx._src.proto.messages import ModelProto


@rule("SX010", visits=ModelProto, suppressed_by="SX003")
def check_ir_version_missing(model: ModelProto, context: RuleContext) -> Iterator[Finding]:
    if not model.ir_version:
        help_ = (
            f"set ir_version to the lowest version that has all features in use, at most {LATEST_IR_VERSION}"
        )
        yield Finding("ir_version", "ir_version is missing or 0", help_)
