"""SX532 sharded-axis-beyond-inferred-rank: a sharded axis lies outside the rank that operators give a tensor.

Clause: IR.md, "Sharded Dimension"; onnx.proto, ShardedDimProto.axis
Catalogue: DEV-09
Why:    an axis goes from -rank to rank - 1; this tells what declarations alone do not.
Bad:    <ir_version: 11, configuration: [{name: "c", num_devices: 2}]> g (float[2] x) => (float[2] y) { a = Neg(x)  y = Abs(a) @{device_configurations: [
          {configuration_id: "c", sharding_spec: [{tensor_name: "a", sharded_dim: [{axis: 1, simple_sharding: [{num_shards: 2}]}]}]}]} }
Good:   <ir_version: 11, configuration: [{name: "c", num_devices: 2}]> g (float[2] x) => (float[2] y) { a = Neg(x)  y = Abs(a) @{device_configurations: [
          {configuration_id: "c", sharding_spec: [{tensor_name: "a", sharded_dim: [{axis: 0, simple_sharding: [{num_shards: 2}]}]}]}]} }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.api import Finding
from sardonyx._src.check.uses import Typed, typed
from sardonyx._src.ir.graph import Node, Value
from sardonyx._src.ir.types import SparseTensorType, TensorType
from sardonyx._src.ir.walk import nodes, roots


@typed("SX532", about=Typed, unless="SX528", since=11)
def sharded_axis_beyond_inferred_rank(whole: Typed) -> Iterator[Finding]:
    for graph in roots(whole.model):
        for node in nodes(graph):
            if node.device_configurations and (path := whole.path(node)):
                for at, axis, rank in outside(node):
                    says = f"axis {axis} of a tensor of rank {rank}"
                    yield Finding(f"{path}.{at}", says, f"use an axis from {-rank} to {rank - 1}")


def outside(node: Node) -> Iterator[tuple[str, int, int]]:
    """Place, axis and rank of each sharded axis that its tensor has not."""
    for i, configuration in enumerate(node.device_configurations):
        for j, spec in enumerate(configuration.sharding_spec):
            rank = rank_of(spec.tensor)
            for k, dim in enumerate(spec.sharded_dim):
                if rank is not None and dim.axis is not None and not -rank <= dim.axis < rank:
                    yield (
                        f"device_configurations[{i}].sharding_spec[{j}].sharded_dim[{k}].axis",
                        dim.axis,
                        rank,
                    )


def rank_of(value: Value | str) -> int | None:
    found = value.type if isinstance(value, Value) else None
    if not isinstance(found, TensorType | SparseTensorType) or found.shape is None:
        return None
    return len(found.shape)
