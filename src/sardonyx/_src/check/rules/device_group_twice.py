"""SX531 device-group-twice: a map of device groups has a key twice.

Clause: onnx.proto, ShardingSpecProto.index_to_device_group_map, IntIntListEntryProto
Catalogue: DEV-12
Why:    which of the two groups holds is up to the reader.
Bad:    <ir_version: 11, configuration: [{name: "c", num_devices: 2}]> g (float[2] x) => (float[2] y) { y = Abs(x) @{device_configurations: [
          {configuration_id: "c", sharding_spec: [{tensor_name: "x", device: [-1],
           index_to_device_group_map: [{key: -1, value: [0]}, {key: -1, value: [1]}]}]}]} }
Good:   <ir_version: 11, configuration: [{name: "c", num_devices: 2}]> g (float[2] x) => (float[2] y) { y = Abs(x) @{device_configurations: [
          {configuration_id: "c", sharding_spec: [{tensor_name: "x", device: [-1],
           index_to_device_group_map: [{key: -1, value: [0, 1]}]}]}]} }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import ShardingSpecProto


@rule("SX531", visits=ShardingSpecProto, since=11)
def device_group_twice(one: ShardingSpecProto, context: Context) -> Iterator[Finding]:
    first: dict[int, int] = {}
    for i, group in enumerate(one.index_to_device_group_map):
        if first.setdefault(group.key, i) != i:
            says = f"the key {group.key} stands already at entry {first[group.key]}"
            yield Finding(f"index_to_device_group_map[{i}].key", says, "keep one of the two entries")
