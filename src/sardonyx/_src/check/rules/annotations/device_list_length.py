"""SX522 device-list-length: the device list of a configuration does not have one entry per device.

Clause: IR.md, "Device Configurations"; onnx.proto, DeviceConfigurationProto.device
Catalogue: DEV-03
Why:    a device list, if present, names every device.
Bad:    <ir_version: 11, configuration: [{name: "c", num_devices: 2, device: ["CPU"]}]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <ir_version: 11, configuration: [{name: "c", num_devices: 1, device: ["CPU"]}]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import DeviceConfigurationProto


@rule("SX522", visits=DeviceConfigurationProto, since=11)
def check_device_list_length(
    configuration: DeviceConfigurationProto, context: RuleContext
) -> Iterator[Finding]:
    if configuration.device and 0 < configuration.num_devices != len(configuration.device):
        message = f"device must have {configuration.num_devices} entries (num_devices); got {len(configuration.device)}"
        yield Finding("device", message, "name each device, or omit the list")
