"""SX528 sharded-axis-outside: a sharded axis is outside the rank of its tensor.

Clause: IR.md, "Sharded Dimension"; onnx.proto, ShardedDimProto.axis
Catalogue: DEV-09
Why:    an axis ranges from -rank to rank - 1.
Bad:    <ir_version: 11, configuration: [{name: "c", num_devices: 2}]> g (float[2] x) => (float[2] y) { y = Abs(x) @{device_configurations: [
          {configuration_id: "c", sharding_spec: [{tensor_name: "x", sharded_dim: [{axis: 1, simple_sharding: [{num_shards: 2}]}]}]}]} }
Good:   <ir_version: 11, configuration: [{name: "c", num_devices: 2}]> g (float[2] x) => (float[2] y) { y = Abs(x) @{device_configurations: [
          {configuration_id: "c", sharding_spec: [{tensor_name: "x", sharded_dim: [{axis: -1, simple_sharding: [{num_shards: 2}]}]}]}]} }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.analysis.declared_types import rank_of
from sardonyx._src.check.engine import Finding, RuleContext, rule
from sardonyx._src.proto.messages import ShardedDimProto, ShardingSpecProto


@rule("SX528", visits=ShardedDimProto, since=11)
def check_sharded_axis_outside(dim: ShardedDimProto, context: RuleContext) -> Iterator[Finding]:
    spec = context.enclosing(ShardingSpecProto)
    rank = rank_of(context.body, spec.tensor_name) if spec is not None else None
    if rank is not None and not -rank <= dim.axis < rank:
        yield Finding(
            "axis", f"the axis must be from {-rank} to {rank - 1}; got {dim.axis}", "correct the axis"
        )
