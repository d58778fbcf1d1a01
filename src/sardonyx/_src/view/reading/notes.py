"""Documentation, metadata and devices of nodes and values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sardonyx._src.proto import messages as m
from sardonyx._src.view.page_data import NodeNotes, Pair, ValueNotes
from sardonyx._src.view.reading.types import denotation_pairs


def pairs_of(entries: Iterable[m.StringStringEntryProto]) -> list[Pair]:
    return [[entry.key, entry.value] for entry in entries]


def node_notes(node: m.NodeProto) -> NodeNotes:
    notes: NodeNotes = {}
    if node.doc_string:
        notes["documentation"] = node.doc_string
    if node.has("metadata_props") and node.metadata_props:
        notes["metadata"] = pairs_of(node.metadata_props)
    if node.has("device_configurations") and node.device_configurations:
        notes["devices"] = [line for c in node.device_configurations for line in device_lines(c)]
    return notes


def value_notes(info: m.ValueInfoProto) -> ValueNotes:
    notes: ValueNotes = {}
    if info.doc_string:
        notes["documentation"] = info.doc_string
    metadata = denotation_pairs(info.type)
    if info.has("metadata_props"):
        metadata += pairs_of(info.metadata_props)
    if metadata:
        notes["metadata"] = metadata
    return notes


def device_lines(record: m.NodeDeviceConfigurationProto) -> Iterator[str]:
    """The lines for a configuration of a node's devices: one for the node, and one for each tensor that is sharded."""
    stage = f", pipeline stage {record.pipeline_stage}" if record.has("pipeline_stage") else ""
    yield f"configuration {record.configuration_id}{stage}"
    for spec in record.sharding_spec:
        groups = {entry.key: list(entry.value) for entry in spec.index_to_device_group_map}
        devices = ", ".join(
            f"{device}: {groups[device]}" if device in groups else str(device) for device in spec.device
        )
        dims = "; ".join(map(sharded_dim_text, spec.sharded_dim))
        yield f"{record.configuration_id}: {spec.tensor_name} on devices [{devices}]" + (
            f", {dims}" if dims else ""
        )


def sharded_dim_text(record: m.ShardedDimProto) -> str:
    """An axis, and the parts into which it is split."""
    parts = (
        f"{s.dim_value if s.has('dim_value') else s.dim_param or '?'} in {s.num_shards} shards"
        for s in record.simple_sharding
    )
    return f"axis {record.axis}: {', '.join(parts)}"


def configuration_text(record: m.DeviceConfigurationProto) -> str:
    """The devices of a configuration: their number, and their names if it has them."""
    names = f": {', '.join(record.device)}" if record.device else ""
    return f"{record.num_devices} devices{names}"
