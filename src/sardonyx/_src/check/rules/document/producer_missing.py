"""SX015 producer-missing: the model does not state the name and version of the tool that produced it.

Clause: onnx.proto, ModelProto.producer_name, producer_version
Catalogue: MOD-06
Why:    a defect in the model cannot be traced to a tool.
Bad:    <producer_name: ""> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <producer_name: "exporter", producer_version: "1.2"> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import ModelProto


@rule("SX015", "warning", visits=ModelProto, suppressed_by="SX003", group="style")
def check_producer_missing(model: ModelProto, context: RuleContext) -> Iterator[Finding]:
    missing = [name for name in ("producer_name", "producer_version") if not getattr(model, name)]
    if missing:
        yield Finding(
            missing[0], f"{' and '.join(missing)} missing", "set the name and version of the exporter"
        )
