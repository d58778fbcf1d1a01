"""SX526 sharded-tensor-not-of-node: a sharding spec is about a tensor that its node neither takes nor makes.

Clause: IR.md, "Sharding Specification"; onnx.proto, ShardingSpecProto.tensor_name
Catalogue: DEV-07
Why:    a node can shard its own inputs and outputs only.
Bad:    <ir_version: 11, configuration: [{name: "c", num_devices: 1}]> g (float[2] x) => (float[2] y) {
          y = Abs(x) @{device_configurations: [{configuration_id: "c", sharding_spec: [{tensor_name: "z"}]}]}
        }
Good:   <ir_version: 11, configuration: [{name: "c", num_devices: 1}]> g (float[2] x) => (float[2] y) {
          y = Abs(x) @{device_configurations: [{configuration_id: "c", sharding_spec: [{tensor_name: "x"}]}]}
        }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.proto.messages import NodeProto, ShardingSpecProto
from sardonyx._src.proto.record import brief


@rule("SX526", visits=ShardingSpecProto, since=11)
def sharded_tensor_not_of_node(one: ShardingSpecProto, context: Context) -> Iterator[Finding]:
    node = context.around(NodeProto)
    if node is not None and one.tensor_name:
        own = [*node.input, *node.output]
        if one.tensor_name not in own:
            says = f"the node neither takes nor makes {brief(one.tensor_name)}{context.near(one.tensor_name, own)}"
            yield Finding("tensor_name", says, "name an input or output of the node")
