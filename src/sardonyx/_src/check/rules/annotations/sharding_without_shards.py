"""SX529 sharding-without-shards: a sharded dimension does not state its number of shards.

Clause: IR.md, "Simple Sharded Dimension"; onnx.proto, SimpleShardedDimProto.num_shards
Catalogue: DEV-10
Why:    the number is required, and at least 1.
Bad:    <ir_version: 11, configuration: [{name: "c", num_devices: 2}]> g (float[2] x) => (float[2] y) { y = Abs(x) @{device_configurations: [
          {configuration_id: "c", sharding_spec: [{tensor_name: "x", sharded_dim: [{axis: 0, simple_sharding: [{dim_value: 2}]}]}]}]} }
Good:   <ir_version: 11, configuration: [{name: "c", num_devices: 2}]> g (float[2] x) => (float[2] y) { y = Abs(x) @{device_configurations: [
          {configuration_id: "c", sharding_spec: [{tensor_name: "x", sharded_dim: [{axis: 0, simple_sharding: [{dim_value: 2, num_shards: 2}]}]}]}]} }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import SimpleShardedDimProto


@rule("SX529", visits=SimpleShardedDimProto, since=11)
def check_sharding_without_shards(dim: SimpleShardedDimProto, context: RuleContext) -> Iterator[Finding]:
    if dim.num_shards < 1:
        message = f"num_shards is {dim.num_shards}" if dim.has("num_shards") else "num_shards is missing"
        yield Finding("num_shards", message, "state the number of shards")
