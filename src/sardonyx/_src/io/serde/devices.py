"""Conversion of device configurations and quantization annotations, which refer to values by name.

Functions `*_from` read a record, functions `*_to` write one; `find` returns the value in scope with a name, or None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from sardonyx._src.io.serde.details import difference, entry_differences, own_details, restore
from sardonyx._src.ir import Value
from sardonyx._src.ir.details import SourceDetails
from sardonyx._src.ir.devices import (
    DeviceConfiguration,
    NodeDeviceConfiguration,
    ShardedDim,
    ShardingSpec,
    SimpleShardedDim,
)
from sardonyx._src.ir.graph import QuantizationAnnotation
from sardonyx._src.ir.model import Note
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.record import Record

GROUPS = "index_to_device_group_map"
FindValue: TypeAlias = Callable[[str], "Value | None"]


def annotation_from(
    record: m.TensorAnnotation, find: FindValue, notes: list[Note], where: str
) -> QuantizationAnnotation:
    entries = record.quant_parameter_tensor_names
    parameters: dict[str, Value | str] = {e.key: find(e.value) or e.value for e in entries}
    result = QuantizationAnnotation(find(record.tensor_name) or record.tensor_name, parameters)
    note_repeated(len(entries) - len(parameters), "quantization parameters", notes, where)
    result.details = difference(record, annotation_to(result))
    return result


def annotation_to(annotation: QuantizationAnnotation) -> m.TensorAnnotation:
    pairs = annotation.parameters.items()
    names = [m.StringStringEntryProto(key=k, value=name_of(v)) for k, v in pairs]
    record = m.TensorAnnotation(tensor_name=name_of(annotation.tensor), quant_parameter_tensor_names=names)
    restore(record, annotation.details)
    return record


def name_of(value: Value | str) -> str:
    return value if isinstance(value, str) else value.name


def node_configuration_from(
    record: m.NodeDeviceConfigurationProto, find: FindValue, notes: list[Note], where: str
) -> NodeDeviceConfiguration:
    stage = record.pipeline_stage if record.has("pipeline_stage") else None
    specs = [spec_from(spec, find, notes, where) for spec in record.sharding_spec]
    details = own_details(record, ("configuration_id",))
    return NodeDeviceConfiguration(record.configuration_id, specs, stage, details)


def spec_from(record: m.ShardingSpecProto, find: FindValue, notes: list[Note], where: str) -> ShardingSpec:
    groups = {e.key: list(e.value) for e in record.index_to_device_group_map}
    note_repeated(len(record.index_to_device_group_map) - len(groups), "device groups", notes, where)
    dims = [sharded_from(dim) for dim in record.sharded_dim]
    written = [m.IntIntListEntryProto(key=k, value=v) for k, v in groups.items()]
    parts = entry_differences(GROUPS, record.index_to_device_group_map, written)
    tensor = find(record.tensor_name) or record.tensor_name
    details = own_details(record, ("tensor_name",), parts)
    return ShardingSpec(tensor, list(record.device), groups, dims, details)


def note_repeated(count: int, what: str, notes: list[Note], where: str) -> None:
    if count:
        notes.append(Note(where, f"{count} {what} have the key of a later one, which applies"))


def sharded_from(record: m.ShardedDimProto) -> ShardedDim:
    axis = record.axis if record.has("axis") else None
    return ShardedDim(axis, [simple_from(s) for s in record.simple_sharding], unknown_of(record))


def simple_from(record: m.SimpleShardedDimProto) -> SimpleShardedDim:
    which = record.which("dim")
    dim: int | str | None = None if which is None else getattr(record, which)
    shards = record.num_shards if record.has("num_shards") else None
    return SimpleShardedDim(dim, shards, unknown_of(record))


def unknown_of(record: Record) -> SourceDetails | None:
    """The unknown fields of a record as details; the IR object itself knows which of the other fields are set."""
    return SourceDetails(tuple(record.unknown)) if record.unknown else None


def node_configuration_to(configuration: NodeDeviceConfiguration) -> m.NodeDeviceConfigurationProto:
    record = m.NodeDeviceConfigurationProto(configuration_id=configuration.configuration_id)
    record.sharding_spec = [spec_to(spec) for spec in configuration.sharding_spec]
    if configuration.pipeline_stage is not None:
        record.pipeline_stage = configuration.pipeline_stage
    restore(record, configuration.details)
    return record


def spec_to(spec: ShardingSpec) -> m.ShardingSpecProto:
    groups = [m.IntIntListEntryProto(key=k, value=list(v)) for k, v in spec.index_to_device_group.items()]
    dims = [sharded_to(dim) for dim in spec.sharded_dim]
    record = m.ShardingSpecProto(
        tensor_name=name_of(spec.tensor),
        device=list(spec.device),
        index_to_device_group_map=groups,
        sharded_dim=dims,
    )
    restore(record, spec.details)
    return record


def sharded_to(dim: ShardedDim) -> m.ShardedDimProto:
    record = m.ShardedDimProto(simple_sharding=[simple_to(s) for s in dim.simple_sharding])
    if dim.axis is not None:
        record.axis = dim.axis
    restore(record, dim.details)
    return record


def simple_to(simple: SimpleShardedDim) -> m.SimpleShardedDimProto:
    record = m.SimpleShardedDimProto()
    if simple.dim is not None:
        record.set("dim_value" if isinstance(simple.dim, int) else "dim_param", simple.dim)
    if simple.num_shards is not None:
        record.num_shards = simple.num_shards
    restore(record, simple.details)
    return record


def configuration_from(record: m.DeviceConfigurationProto) -> DeviceConfiguration:
    details = own_details(record, ("name", "num_devices"))
    return DeviceConfiguration(record.name, record.num_devices, list(record.device), details)


def configuration_to(configuration: DeviceConfiguration) -> m.DeviceConfigurationProto:
    record = m.DeviceConfigurationProto(
        name=configuration.name, num_devices=configuration.num_devices, device=list(configuration.device)
    )
    restore(record, configuration.details)
    return record
