"""SX526 sharded-tensor-not-of-node: a sharding spec refers to a tensor that is not an input or output of its node.

Clause: IR.md, "Sharding Specification"; onnx.proto, ShardingSpecProto.tensor_name
Catalogue: DEV-07
Why:    a node can shard only its own inputs and outputs.
Bad:    <ir_version: 11, configuration: [{name: "c", num_devices: 1}]> g (float[2] x) => (float[2] y) {
          y = Abs(x) @{device_configurations: [{configuration_id: "c", sharding_spec: [{tensor_name: "z"}]}]}
        }
Good:   <ir_version: 11, configuration: [{name: "c", num_devices: 1}]> g (float[2] x) => (float[2] y) {
          y = Abs(x) @{device_configurations: [{configuration_id: "c", sharding_spec: [{tensor_name: "x"}]}]}
        }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import NodeProto, ShardingSpecProto
from sardonyx._src.proto.record import brief


@rule("SX526", visits=ShardingSpecProto, since=11)
def check_sharded_tensor_not_of_node(spec: ShardingSpecProto, context: RuleContext) -> Iterator[Finding]:
    node = context.enclosing(NodeProto)
    if node is not None and spec.tensor_name:
        own = [*node.input, *node.output]
        if spec.tensor_name not in own:
            message = f"{brief(spec.tensor_name)} is neither an input nor an output of the node{context.near(spec.tensor_name, own)}"
            yield Finding("tensor_name", message, "name an input or output of the node")
