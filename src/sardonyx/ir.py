"""The intermediate representation: graphs of values and nodes, their types, tensors, and a builder.

A graph that exists is well formed: every value has one producer, and every edit keeps both ends of an edge.
"""

from sardonyx._src.ir.attributes import AttributeType as AttributeType
from sardonyx._src.ir.build import GraphBuilder as GraphBuilder
from sardonyx._src.ir.devices import DeviceConfiguration as DeviceConfiguration
from sardonyx._src.ir.devices import NodeDeviceConfiguration as NodeDeviceConfiguration
from sardonyx._src.ir.devices import ShardedDim as ShardedDim
from sardonyx._src.ir.devices import ShardingSpec as ShardingSpec
from sardonyx._src.ir.devices import SimpleShardedDim as SimpleShardedDim
from sardonyx._src.ir.graph import Attribute as Attribute
from sardonyx._src.ir.graph import Graph as Graph
from sardonyx._src.ir.graph import Node as Node
from sardonyx._src.ir.graph import QuantizationAnnotation as QuantizationAnnotation
from sardonyx._src.ir.graph import Value as Value
from sardonyx._src.ir.model import Function as Function
from sardonyx._src.ir.model import Model as Model
from sardonyx._src.ir.model import Note as Note
from sardonyx._src.ir.model import TrainingInfo as TrainingInfo
from sardonyx._src.ir.model import clone as clone
from sardonyx._src.ir.operator_set import OperatorDeclaration as OperatorDeclaration
from sardonyx._src.ir.operator_set import OperatorSet as OperatorSet
from sardonyx._src.ir.operator_set import OperatorStatus as OperatorStatus
from sardonyx._src.ir.tensors import SparseTensor as SparseTensor
from sardonyx._src.ir.tensors import Storage as Storage
from sardonyx._src.ir.tensors import Tensor as Tensor
from sardonyx._src.ir.types import MapType as MapType
from sardonyx._src.ir.types import OpaqueType as OpaqueType
from sardonyx._src.ir.types import OptionalType as OptionalType
from sardonyx._src.ir.types import SequenceType as SequenceType
from sardonyx._src.ir.types import SparseTensorType as SparseTensorType
from sardonyx._src.ir.types import TensorType as TensorType
from sardonyx._src.ir.types import Type as Type
from sardonyx._src.ir.verify import verify as verify

__all__ = [
    "Attribute",
    "AttributeType",
    "DeviceConfiguration",
    "Function",
    "Graph",
    "GraphBuilder",
    "MapType",
    "Model",
    "Node",
    "NodeDeviceConfiguration",
    "Note",
    "OpaqueType",
    "OperatorDeclaration",
    "OperatorSet",
    "OperatorStatus",
    "OptionalType",
    "QuantizationAnnotation",
    "SequenceType",
    "ShardedDim",
    "ShardingSpec",
    "SimpleShardedDim",
    "SparseTensor",
    "SparseTensorType",
    "Storage",
    "Tensor",
    "TensorType",
    "TrainingInfo",
    "Type",
    "Value",
    "clone",
    "verify",
]
