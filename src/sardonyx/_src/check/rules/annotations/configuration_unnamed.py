"""SX523 configuration-unnamed: a node's device configuration does not refer to a configuration of the model.

Clause: IR.md, "Node Device Configuration"; onnx.proto, NodeDeviceConfigurationProto.configuration_id
Catalogue: DEV-04
Why:    without it, the annotation never applies.
Bad:    <ir_version: 11, configuration: [{name: "c", num_devices: 1}]>
        g (float[2] x) => (float[2] y) { y = Abs(x) @{device_configurations: [{pipeline_stage: 1}]} }
Good:   <ir_version: 11, configuration: [{name: "c", num_devices: 1}]>
        g (float[2] x) => (float[2] y) { y = Abs(x) @{device_configurations: [{configuration_id: "c"}]} }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeDeviceConfigurationProto


@rule("SX523", visits=NodeDeviceConfigurationProto, since=11)
def check_configuration_unnamed(
    configuration: NodeDeviceConfigurationProto, context: RuleContext
) -> Iterator[Finding]:
    if not configuration.configuration_id:
        yield Finding("configuration_id", "configuration_id is missing", "name a configuration of the model")
