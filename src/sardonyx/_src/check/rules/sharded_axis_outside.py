"""SX528 sharded-axis-outside: a sharded axis lies outside the rank of its tensor.

Clause: IR.md, "Sharded Dimension"; onnx.proto, ShardedDimProto.axis
Catalogue: DEV-09
Why:    an axis goes from -rank to rank - 1.
Bad:    <ir_version: 11, configuration: [{name: "c", num_devices: 2}]> g (float[2] x) => (float[2] y) { y = Abs(x) @{device_configurations: [
          {configuration_id: "c", sharding_spec: [{tensor_name: "x", sharded_dim: [{axis: 1, simple_sharding: [{num_shards: 2}]}]}]}]} }
Good:   <ir_version: 11, configuration: [{name: "c", num_devices: 2}]> g (float[2] x) => (float[2] y) { y = Abs(x) @{device_configurations: [
          {configuration_id: "c", sharding_spec: [{tensor_name: "x", sharded_dim: [{axis: -1, simple_sharding: [{num_shards: 2}]}]}]}]} }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding, rule
from sardonyx._src.check.context import Context
from sardonyx._src.check.types import rank_of
from sardonyx._src.proto.messages import ShardedDimProto, ShardingSpecProto


@rule("SX528", visits=ShardedDimProto, since=11)
def sharded_axis_outside(one: ShardedDimProto, context: Context) -> Iterator[Finding]:
    spec = context.around(ShardingSpecProto)
    rank = rank_of(context.body, spec.tensor_name) if spec is not None else None
    if rank is not None and not -rank <= one.axis < rank:
        yield Finding(
            "axis", f"axis {one.axis} of a tensor of rank {rank}", f"use an axis from {-rank} to {rank - 1}"
        )
