"""Models of float32 as models of 16 bits."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.infer.walk import infer
from sardonyx._src.ir.clone import clone
from sardonyx._src.ir.graph import Attribute, Model, Value
from sardonyx._src.ir.tensors import Array, Tensor
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ir.walk import graphs

FLOAT = DataType.FLOAT
PRECISE = {("Resize", 1), ("Resize", 2), ("Upsample", 1)}  # inputs that are float32 in any case


def halved(model: Model, half: DataType) -> Model:
    """A copy in which every float32 is of 16 bits."""
    copy = clone(model)
    for graph in graphs(copy.graph):
        for value in (*graph.inputs, *graph.initializers.values()):
            if not value.uses or not all((node.op_type, slot) in PRECISE for node, slot in value.uses):
                narrow(value, half)
        for node in graph.nodes:
            for name, attribute in list(node.attributes.items()):
                node.attributes[name] = narrowed(attribute, half)
    forget(copy)
    return infer(copy) or copy


def narrow(value: Value, half: DataType) -> None:
    if isinstance(value.initializer, Tensor) and value.initializer.dtype is FLOAT:
        value.initializer = Tensor.of(value.initializer.numpy().astype(half.numpy), name=value.name)
    if isinstance(value.type, TensorType) and value.type.dtype is FLOAT:
        value.type = TensorType(half, value.type.shape)


def narrowed(attribute: Attribute, half: DataType) -> Attribute:
    """An attribute that names float32, or holds it, of 16 bits."""
    value = attribute.value
    if attribute.name == "to" and value == FLOAT:
        return Attribute("to", attribute.type, int(half))
    if isinstance(value, Tensor) and value.dtype is FLOAT:
        return Attribute(attribute.name, attribute.type, Tensor.of(value.numpy().astype(half.numpy)))
    return attribute


def forget(model: Model) -> None:
    """Takes away what is declared of values that nodes make, but what outputs have to have."""
    for graph in graphs(model.graph):
        for node in graph.nodes:
            for value in node.outputs:
                value.type = None


def half_feeds(feeds: Mapping[str, Array], half: DataType) -> dict[str, Array]:
    return {
        name: array.astype(half.numpy) if array.dtype == np.float32 else array
        for name, array in feeds.items()
    }
