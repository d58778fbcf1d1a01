"""SX015 producer-missing: the tool that made the model did not leave its name and version.

Clause: onnx.proto, ModelProto.producer_name, producer_version
Catalogue: MOD-06
Why:    whoever meets a fault in the model cannot tell which tool made it.
Bad:    <producer_name: ""> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <producer_name: "exporter", producer_version: "1.2"> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import ModelProto


@rule("SX015", "warning", visits=ModelProto, unless="SX003")
def producer_missing(model: ModelProto, context: Context) -> Iterator[Finding]:
    missing = [name for name in ("producer_name", "producer_version") if not getattr(model, name)]
    if missing:
        yield Finding(
            missing[0], f"{' and '.join(missing)} missing", "set the name and version of the exporter"
        )
