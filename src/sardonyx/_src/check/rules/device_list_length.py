"""SX522 device-list-length: the device list of a configuration has not as many entries as there are devices.

Clause: IR.md, "Device Configurations"; onnx.proto, DeviceConfigurationProto.device
Catalogue: DEV-03
Why:    the list, where there is one, names each device.
Bad:    <ir_version: 11, configuration: [{name: "c", num_devices: 2, device: ["CPU"]}]> g (float[2] x) => (float[2] y) { y = Abs(x) }
Good:   <ir_version: 11, configuration: [{name: "c", num_devices: 1, device: ["CPU"]}]> g (float[2] x) => (float[2] y) { y = Abs(x) }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import DeviceConfigurationProto


@rule("SX522", visits=DeviceConfigurationProto, since=11)
def device_list_length(one: DeviceConfigurationProto, context: Context) -> Iterator[Finding]:
    if one.device and 0 < one.num_devices != len(one.device):
        says = f"device has {len(one.device)} entries, num_devices is {one.num_devices}"
        yield Finding("device", says, "name each device, or leave the list out")
