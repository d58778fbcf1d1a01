"""Conversion of float32 models to half-precision models."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.infer.walk import infer
from sardonyx._src.ir import Array, Attribute, Model, Tensor, TensorType, Value
from sardonyx._src.ir.model import clone
from sardonyx._src.ir.walk import graphs

FLOAT = DataType.FLOAT
FLOAT32_INPUTS = {("Resize", 1), ("Resize", 2), ("Upsample", 1)}  # inputs that must be float32


def convert_to_half(model: Model, half: DataType) -> Model:
    """A copy in which every float32 is of type `half`."""
    copy = clone(model)
    for graph in graphs(copy.graph):
        for value in (*graph.inputs, *graph.initializers.values()):
            if not value.uses or not all((node.op_type, slot) in FLOAT32_INPUTS for node, slot in value.uses):
                convert_value(value, half)
        for node in graph.nodes:
            for name, attribute in list(node.attributes.items()):
                node.attributes[name] = convert_attribute(attribute, half)
    clear_types(copy)
    return infer(copy) or copy


def convert_value(value: Value, half: DataType) -> None:
    if isinstance(value.initializer, Tensor) and value.initializer.dtype is FLOAT:
        value.initializer = Tensor.of(value.initializer.numpy().astype(half.numpy), name=value.name)
    if isinstance(value.type, TensorType) and value.type.dtype is FLOAT:
        value.type = TensorType(half, value.type.shape)


def convert_attribute(attribute: Attribute, half: DataType) -> Attribute:
    """An attribute whose value is float32, the type or a tensor, in half precision."""
    value = attribute.value
    if attribute.name == "to" and value == FLOAT:
        return Attribute("to", attribute.type, int(half))
    if isinstance(value, Tensor) and value.dtype is FLOAT:
        return Attribute(attribute.name, attribute.type, Tensor.of(value.numpy().astype(half.numpy)))
    return attribute


def clear_types(model: Model) -> None:
    """Clears the types of all values that nodes compute, for inference to set them."""
    for graph in graphs(model.graph):
        for node in graph.nodes:
            for value in node.outputs:
                value.type = None


def half_feeds(feeds: Mapping[str, Array], half: DataType) -> dict[str, Array]:
    return {
        name: array.astype(half.numpy) if array.dtype == np.float32 else array
        for name, array in feeds.items()
    }
