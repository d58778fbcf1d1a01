"""SX525 sharding-without-tensor: a sharding spec does not name its tensor.

Clause: IR.md, "Sharding Specification"; onnx.proto, ShardingSpecProto.tensor_name
Catalogue: DEV-06
Why:    the tensor to shard is unknown.
Bad:    <ir_version: 11, configuration: [{name: "c", num_devices: 1}]> g (float[2] x) => (float[2] y) {
          y = Abs(x) @{device_configurations: [{configuration_id: "c", sharding_spec: [{device: [0]}]}]}
        }
Good:   <ir_version: 11, configuration: [{name: "c", num_devices: 1}]> g (float[2] x) => (float[2] y) {
          y = Abs(x) @{device_configurations: [{configuration_id: "c", sharding_spec: [{tensor_name: "x", device: [0]}]}]}
        }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import ShardingSpecProto


@rule("SX525", visits=ShardingSpecProto, since=11)
def check_sharding_without_tensor(spec: ShardingSpecProto, context: RuleContext) -> Iterator[Finding]:
    if not spec.tensor_name:
        yield Finding("tensor_name", "tensor_name is missing", "name an input or output of the node")
