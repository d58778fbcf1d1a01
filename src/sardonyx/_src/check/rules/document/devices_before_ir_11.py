"""SX061 devices-before-ir-11: a model of an early IR version has device configurations.

Clause: onnx.proto, Version, IR_VERSION_2025_05_12
Catalogue: VER-12
Why:    readers of that version ignore the field.
Bad:    <ir_version: 10, configuration: [{name: "c", num_devices: 1}]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <ir_version: 11, configuration: [{name: "c", num_devices: 1}]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import ModelProto, NodeProto


@rule(
    "SX061", "warning", visits=(ModelProto, NodeProto), until=10, needs="configuration device_configurations"
)
def check_devices_before_ir_11(holder: ModelProto | NodeProto, context: RuleContext) -> Iterator[Finding]:
    """Reported once for models and once for nodes."""
    field = "configuration" if isinstance(holder, ModelProto) else "device_configurations"
    if holder.has(field) and getattr(holder, field):
        message = f"{field} requires IR version 11; the model has version {context.ir_version}"
        yield Finding(field, message, "raise ir_version to 11", dedup_key=field)
