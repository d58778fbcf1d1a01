"""SX531 device-group-twice: a map of device groups has a duplicate key.

Clause: onnx.proto, ShardingSpecProto.index_to_device_group_map, IntIntListEntryProto
Catalogue: DEV-12
Why:    which of the two groups applies depends on the reader.
Bad:    <ir_version: 11, configuration: [{name: "c", num_devices: 2}]> g (float[2] x) => (float[2] y) { y = Abs(x) @{device_configurations: [
          {configuration_id: "c", sharding_spec: [{tensor_name: "x", device: [-1],
           index_to_device_group_map: [{key: -1, value: [0]}, {key: -1, value: [1]}]}]}]} }
Good:   <ir_version: 11, configuration: [{name: "c", num_devices: 2}]> g (float[2] x) => (float[2] y) { y = Abs(x) @{device_configurations: [
          {configuration_id: "c", sharding_spec: [{tensor_name: "x", device: [-1],
           index_to_device_group_map: [{key: -1, value: [0, 1]}]}]}]} }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import ShardingSpecProto


@rule("SX531", visits=ShardingSpecProto, since=11)
def check_device_group_twice(spec: ShardingSpecProto, context: RuleContext) -> Iterator[Finding]:
    first: dict[int, int] = {}
    for i, group in enumerate(spec.index_to_device_group_map):
        if first.setdefault(group.key, i) != i:
            message = f"the key {group.key} duplicates that of entry {first[group.key]}"
            yield Finding(f"index_to_device_group_map[{i}].key", message, "keep one of the two entries")
