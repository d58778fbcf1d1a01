"""SX532 sharded-axis-beyond-inferred-rank: a sharded axis is outside the inferred rank of a tensor.

Clause: IR.md, "Sharded Dimension"; onnx.proto, ShardedDimProto.axis
Catalogue: DEV-09
Why:    an axis ranges from -rank to rank - 1; this rule uses inferred ranks where none is declared.
Bad:    <ir_version: 11, configuration: [{name: "c", num_devices: 2}]> g (float[2] x) => (float[2] y) { a = Neg(x)  y = Abs(a) @{device_configurations: [
          {configuration_id: "c", sharding_spec: [{tensor_name: "a", sharded_dim: [{axis: 1, simple_sharding: [{num_shards: 2}]}]}]}]} }
Good:   <ir_version: 11, configuration: [{name: "c", num_devices: 2}]> g (float[2] x) => (float[2] y) { a = Neg(x)  y = Abs(a) @{device_configurations: [
          {configuration_id: "c", sharding_spec: [{tensor_name: "a", sharded_dim: [{axis: 0, simple_sharding: [{num_shards: 2}]}]}]}]} }
"""

from __future__ import annotations

from collections.abc import Iterator

from sardonyx._src.check.engine import Finding
from sardonyx._src.check.type_rules.subjects import TypedModel, type_rule
from sardonyx._src.ir import Node, SparseTensorType, TensorType, Value
from sardonyx._src.ir.walk import nodes, roots


@type_rule("SX532", about=TypedModel, suppressed_by="SX528", since=11)
def check_sharded_axis_beyond_inferred_rank(typed_model: TypedModel) -> Iterator[Finding]:
    for graph in roots(typed_model.model):
        for node in nodes(graph):
            if node.device_configurations and (path := typed_model.path(node)):
                for subpath, axis, rank in invalid_axes(node):
                    message = f"the axis must be from {-rank} to {rank - 1}; got {axis}"
                    yield Finding(f"{path}.{subpath}", message, "correct the axis")


def invalid_axes(node: Node) -> Iterator[tuple[str, int, int]]:
    """Path, axis and rank of each sharded axis that its tensor does not have."""
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
    type_ = value.type if isinstance(value, Value) else None
    if not isinstance(type_, TensorType | SparseTensorType) or type_.shape is None:
        return None
    return len(type_.shape)
