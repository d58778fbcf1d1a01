"""The IR: models, graphs, nodes, values, tensors and types, as the IR specification names them.

The package exports the classes; functions that walk, copy, verify or rename have modules of their own.
"""

from sardonyx._src.ir.graph import Graph
from sardonyx._src.ir.model import Function, Model
from sardonyx._src.ir.node import Attribute, AttributeScalar, AttributeValue, Node
from sardonyx._src.ir.tensors import Array, SparseTensor, Tensor
from sardonyx._src.ir.types import (
    MapType,
    OptionalType,
    SequenceType,
    Shape,
    SparseTensorType,
    TensorType,
    Type,
)
from sardonyx._src.ir.value import Value

__all__ = [
    "Array",
    "Attribute",
    "AttributeScalar",
    "AttributeValue",
    "Function",
    "Graph",
    "MapType",
    "Model",
    "Node",
    "OptionalType",
    "SequenceType",
    "Shape",
    "SparseTensor",
    "SparseTensorType",
    "Tensor",
    "TensorType",
    "Type",
    "Value",
]
