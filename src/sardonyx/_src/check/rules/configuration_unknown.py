"""SX524 configuration-unknown: a node's device configuration is for one that the model does not have.

Clause: IR.md, "Node Device Configuration"; onnx.proto, NodeDeviceConfigurationProto.configuration_id
Catalogue: DEV-05
Why:    the annotation holds never, or its name is misspelt.
Bad:    <ir_version: 11, configuration: [{name: "c", num_devices: 1}]>
        g (float[2] x) => (float[2] y) { y = Abs(x) @{device_configurations: [{configuration_id: "d"}]} }
Good:   <ir_version: 11, configuration: [{name: "c", num_devices: 1}]>
        g (float[2] x) => (float[2] y) { y = Abs(x) @{device_configurations: [{configuration_id: "c"}]} }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import NodeDeviceConfigurationProto
from sardonyx._src.proto.record import brief


@rule("SX524", visits=NodeDeviceConfigurationProto, since=11)
def configuration_unknown(one: NodeDeviceConfigurationProto, context: Context) -> Iterator[Finding]:
    known = context.document.configurations
    if context.document.model is not None and one.configuration_id and one.configuration_id not in known:
        near = context.near(one.configuration_id, known)
        says = f"the model has no configuration {brief(one.configuration_id)}{near}"
        yield Finding("configuration_id", says, "correct the name, or add the configuration")
