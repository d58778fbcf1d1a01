"""SX520 configuration-without-name: a device configuration of the model has no name.

Clause: IR.md, "Device Configurations"; onnx.proto, DeviceConfigurationProto.name
Catalogue: DEV-01
Why:    nodes refer to configurations by name.
Bad:    <ir_version: 11, configuration: [{num_devices: 1}]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <ir_version: 11, configuration: [{name: "c", num_devices: 1}]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import DeviceConfigurationProto


@rule("SX520", visits=DeviceConfigurationProto, since=11)
def check_configuration_without_name(
    configuration: DeviceConfigurationProto, context: RuleContext
) -> Iterator[Finding]:
    if not configuration.name:
        yield Finding("name", "the configuration has no name", "name it")
