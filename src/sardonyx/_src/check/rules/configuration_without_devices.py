"""SX521 configuration-without-devices: a device configuration does not say how many devices it has.

Clause: IR.md, "Device Configurations"; onnx.proto, DeviceConfigurationProto.num_devices
Catalogue: DEV-02
Why:    the number is required, and at least 1.
Bad:    <ir_version: 11, configuration: [{name: "c"}]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <ir_version: 11, configuration: [{name: "c", num_devices: 1}]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import DeviceConfigurationProto


@rule("SX521", visits=DeviceConfigurationProto, since=11)
def configuration_without_devices(one: DeviceConfigurationProto, context: Context) -> Iterator[Finding]:
    if one.num_devices < 1:
        says = f"num_devices is {one.num_devices}" if one.has("num_devices") else "num_devices is missing"
        yield Finding("num_devices", says, "state the number of devices")
