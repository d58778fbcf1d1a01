"""SX524 configuration-unknown: a node's device configuration refers to one that the model does not have.

Clause: IR.md, "Node Device Configuration"; onnx.proto, NodeDeviceConfigurationProto.configuration_id
Catalogue: DEV-05
Why:    the annotation never applies, or its name is misspelled.
Bad:    <ir_version: 11, configuration: [{name: "c", num_devices: 1}]>
        g (float[2] x) => (float[2] y) { y = Abs(x) @{device_configurations: [{configuration_id: "d"}]} }
Good:   <ir_version: 11, configuration: [{name: "c", num_devices: 1}]>
        g (float[2] x) => (float[2] y) { y = Abs(x) @{device_configurations: [{configuration_id: "c"}]} }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeDeviceConfigurationProto
from sardonyx._src.proto.record import brief


@rule("SX524", visits=NodeDeviceConfigurationProto, since=11)
def check_configuration_unknown(
    configuration: NodeDeviceConfigurationProto, context: RuleContext
) -> Iterator[Finding]:
    known = context.document.configurations
    if (
        context.document.model is not None
        and configuration.configuration_id
        and configuration.configuration_id not in known
    ):
        near = context.near(configuration.configuration_id, known)
        message = f"the model has no configuration {brief(configuration.configuration_id)}{near}"
        yield Finding("configuration_id", message, "correct the name, or add the configuration")
