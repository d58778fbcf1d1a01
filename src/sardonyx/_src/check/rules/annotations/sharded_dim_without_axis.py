"""SX527 sharded-dim-without-axis: a sharded dimension does not state its axis.

Clause: IR.md, "Sharded Dimension"; onnx.proto, ShardedDimProto.axis
Catalogue: DEV-08
Why:    the axis to divide is unknown.
Bad:    <ir_version: 11, configuration: [{name: "c", num_devices: 2}]> g (float[2] x) => (float[2] y) { y = Abs(x) @{device_configurations: [
          {configuration_id: "c", sharding_spec: [{tensor_name: "x", sharded_dim: [{simple_sharding: [{num_shards: 2}]}]}]}]} }
Good:   <ir_version: 11, configuration: [{name: "c", num_devices: 2}]> g (float[2] x) => (float[2] y) { y = Abs(x) @{device_configurations: [
          {configuration_id: "c", sharding_spec: [{tensor_name: "x", sharded_dim: [{axis: 0, simple_sharding: [{num_shards: 2}]}]}]}]} }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import ShardedDimProto


@rule("SX527", visits=ShardedDimProto, since=11)
def check_sharded_dim_without_axis(dim: ShardedDimProto, context: RuleContext) -> Iterator[Finding]:
    if not dim.has("axis"):
        yield Finding("axis", "axis is missing", "state the axis")
