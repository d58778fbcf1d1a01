"""Conversion of device configurations and quantisation annotations, which refer to values by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from sardonyx._src.ir.devices import (
    DeviceConfiguration,
    NodeDeviceConfiguration,
    ShardedDim,
    ShardingSpec,
    SimpleShardedDim,
)
from sardonyx._src.ir.graph import QuantizationAnnotation, Value
from sardonyx._src.proto import messages as m

FindValue: TypeAlias = Callable[[str], "Value | None"]


def annotation_from(record: m.TensorAnnotation, find: FindValue) -> QuantizationAnnotation:
    entries = record.quant_parameter_tensor_names
    parameters: dict[str, Value | str] = {e.key: find(e.value) or e.value for e in entries}
    return QuantizationAnnotation(find(record.tensor_name) or record.tensor_name, parameters)


def annotation_to(annotation: QuantizationAnnotation) -> m.TensorAnnotation:
    pairs = annotation.parameters.items()
    names = [m.StringStringEntryProto(key=k, value=name_of(v)) for k, v in pairs]
    return m.TensorAnnotation(tensor_name=name_of(annotation.tensor), quant_parameter_tensor_names=names)


def name_of(value: Value | str) -> str:
    return value if isinstance(value, str) else value.name


def node_configuration_from(
    record: m.NodeDeviceConfigurationProto, find: FindValue
) -> NodeDeviceConfiguration:
    stage = record.pipeline_stage if record.has("pipeline_stage") else None
    specs = [spec_from(spec, find) for spec in record.sharding_spec]
    return NodeDeviceConfiguration(record.configuration_id, specs, stage)


def spec_from(record: m.ShardingSpecProto, find: FindValue) -> ShardingSpec:
    groups = {e.key: list(e.value) for e in record.index_to_device_group_map}
    dims = [
        ShardedDim(d.axis if d.has("axis") else None, [simple_from(s) for s in d.simple_sharding])
        for d in record.sharded_dim
    ]
    return ShardingSpec(find(record.tensor_name) or record.tensor_name, list(record.device), groups, dims)


def simple_from(record: m.SimpleShardedDimProto) -> SimpleShardedDim:
    which = record.which("dim")
    dim: int | str | None = None if which is None else getattr(record, which)
    return SimpleShardedDim(dim, record.num_shards if record.has("num_shards") else None)


def node_configuration_to(configuration: NodeDeviceConfiguration) -> m.NodeDeviceConfigurationProto:
    record = m.NodeDeviceConfigurationProto(configuration_id=configuration.configuration_id)
    record.sharding_spec = [spec_to(spec) for spec in configuration.sharding_spec]
    if configuration.pipeline_stage is not None:
        record.pipeline_stage = configuration.pipeline_stage
    return record


def spec_to(spec: ShardingSpec) -> m.ShardingSpecProto:
    groups = [m.IntIntListEntryProto(key=k, value=list(v)) for k, v in spec.index_to_device_group.items()]
    dims = [sharded_to(dim) for dim in spec.sharded_dim]
    return m.ShardingSpecProto(
        tensor_name=name_of(spec.tensor),
        device=list(spec.device),
        index_to_device_group_map=groups,
        sharded_dim=dims,
    )


def sharded_to(dim: ShardedDim) -> m.ShardedDimProto:
    record = m.ShardedDimProto(simple_sharding=[simple_to(s) for s in dim.simple_sharding])
    if dim.axis is not None:
        record.axis = dim.axis
    return record


def simple_to(simple: SimpleShardedDim) -> m.SimpleShardedDimProto:
    record = m.SimpleShardedDimProto()
    if simple.dim is not None:
        record.set("dim_value" if isinstance(simple.dim, int) else "dim_param", simple.dim)
    if simple.num_shards is not None:
        record.num_shards = simple.num_shards
    return record


def configuration_from(record: m.DeviceConfigurationProto) -> DeviceConfiguration:
    return DeviceConfiguration(record.name, record.num_devices, list(record.device))


def configuration_to(configuration: DeviceConfiguration) -> m.DeviceConfigurationProto:
    return m.DeviceConfigurationProto(
        name=configuration.name, num_devices=configuration.num_devices, device=list(configuration.device)
    )
