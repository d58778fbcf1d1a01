"""SX523 configuration-unnamed: a node's device configuration does not say for which configuration of the model it is.

Clause: IR.md, "Node Device Configuration"; onnx.proto, NodeDeviceConfigurationProto.configuration_id
Catalogue: DEV-04
Why:    nobody knows when it holds.
Bad:    <ir_version: 11, configuration: [{name: "c", num_devices: 1}]>
        g (float[2] x) => (float[2] y) { y = Abs(x) @{device_configurations: [{pipeline_stage: 1}]} }
Good:   <ir_version: 11, configuration: [{name: "c", num_devices: 1}]>
        g (float[2] x) => (float[2] y) { y = Abs(x) @{device_configurations: [{configuration_id: "c"}]} }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import NodeDeviceConfigurationProto


@rule("SX523", visits=NodeDeviceConfigurationProto, since=11)
def configuration_unnamed(one: NodeDeviceConfigurationProto, context: Context) -> Iterator[Finding]:
    if not one.configuration_id:
        yield Finding("configuration_id", "configuration_id is missing", "name a configuration of the model")
