"""SX521 configuration-without-devices: a device configuration does not state the number of its devices.

Clause: IR.md, "Device Configurations"; onnx.proto, DeviceConfigurationProto.num_devices
Catalogue: DEV-02
Why:    the number is required, and at least 1.
Bad:    <ir_version: 11, configuration: [{name: "c"}]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <ir_version: 11, configuration: [{name: "c", num_devices: 1}]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import DeviceConfigurationProto


@rule("SX521", visits=DeviceConfigurationProto, since=11)
def check_configuration_without_devices(
    configuration: DeviceConfigurationProto, context: RuleContext
) -> Iterator[Finding]:
    if configuration.num_devices < 1:
        message = (
            f"num_devices is {configuration.num_devices}"
            if configuration.has("num_devices")
            else "num_devices is missing"
        )
        yield Finding("num_devices", message, "state the number of devices")
