"""Device configurations: how a node's tensors are spread over devices."""

from __future__ import annotations

from dataclasses import field

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir.details import SourceDetails
from sardonyx._src.ir.graph import Value


@dataclass(slots=True)
class SimpleShardedDim:
    """One axis split into `num_shards` equal parts; `dim` is the size that is split."""

    dim: int | str | None
    num_shards: int | None
    details: SourceDetails | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True)
class ShardedDim:
    """An axis of a tensor, and how it is split."""

    axis: int | None
    simple_sharding: list[SimpleShardedDim] = field(default_factory=list)
    details: SourceDetails | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True)
class ShardingSpec:
    """How a tensor of the node is spread over devices; a name of no value in scope is kept as a string."""

    tensor: Value | str
    device: list[int] = field(default_factory=list)
    index_to_device_group: dict[int, list[int]] = field(default_factory=dict)
    sharded_dim: list[ShardedDim] = field(default_factory=list)
    details: SourceDetails | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True)
class NodeDeviceConfiguration:
    """The sharding of a node's tensors under one of the model's device configurations."""

    configuration_id: str
    sharding_spec: list[ShardingSpec] = field(default_factory=list)
    pipeline_stage: int | None = None
    details: SourceDetails | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True)
class DeviceConfiguration:
    """A set of devices for which a model states how it is spread; `device` has their names, if given."""

    name: str
    num_devices: int
    device: list[str] = field(default_factory=list)
    details: SourceDetails | None = field(default=None, compare=False, repr=False)
