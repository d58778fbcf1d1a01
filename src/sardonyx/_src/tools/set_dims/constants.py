"""Reading and replacing constant integer vectors of sizes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Attribute, Model, Node, Tensor, TensorType, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ops.bind import literal_of
from sardonyx._src.tools.calls import main_graphs

SIZE_TYPES = (DataType.INT32, DataType.INT64)
MAX_SIZES = 64  # elements of a vector that may hold sizes


def tensor_of(value: Value | None, model: Model) -> Tensor | None:
    """The dense tensor of a constant value: an initializer that no feed can replace, or a Constant."""
    if value is None:
        return None
    if value.producer is not None:
        return literal_of(value.producer)
    is_default = model.graph.has_input(value) and model.ir_version >= 4
    return value.initializer if isinstance(value.initializer, Tensor) and not is_default else None


def constant_sizes(value: Value | None, model: Model) -> tuple[int, ...] | None:
    """The elements of a constant vector of integers."""
    tensor = tensor_of(value, model)
    if tensor is None or tensor.dtype not in SIZE_TYPES or len(tensor.shape) != 1 or tensor.size > MAX_SIZES:
        return None
    return tuple(int(n) for n in tensor.numpy())


class ConstantEditor:
    """Adds constants to a model under unused names, and removes unused ones."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.names = FreshNames.of_graphs(main_graphs(model))

    def vector(self, numbers: Sequence[int], stem: str, dtype: DataType = DataType.INT64) -> Value:
        """An initializer of the main graph."""
        return self.tensor(Tensor.of(np.array(numbers, dtype.numpy)), stem)

    def tensor(self, tensor: Tensor, stem: str) -> Value:
        value = Value(self.names.fresh(stem), TensorType(tensor.dtype, tensor.shape), tensor)
        if self.model.ir_version < 4:  # up to IR version 3 every initializer must be an input
            self.model.graph.add_input(value)
        return self.model.graph.add_initializer(value)

    def replace(self, node: Node, slot: int, numbers: Sequence[int]) -> None:
        """Replace a constant input of a node by a vector; the constant itself changes if it has no other uses."""
        old = node.inputs[slot]
        tensor = tensor_of(old, self.model)
        assert old is not None and tensor is not None, f"input {slot} of {node!r} is a constant"
        if len(old.uses) > 1 or old.is_graph_output or self.is_named(old):
            node.set_input(slot, self.vector(numbers, old.name, tensor.dtype))
            return
        new = Tensor.of(np.array(numbers, tensor.dtype.numpy), name=tensor.name)
        if old.producer is not None:
            old.producer.set_attribute(Attribute("value", AttributeType.TENSOR, new))
        else:
            old.initializer = new
        assert new.shape == tensor.shape, "a list of sizes keeps its length"

    def drop(self, value: Value) -> None:
        """Remove a constant without references."""
        graph = value.owner
        if value.uses or value.is_graph_output or graph is None or self.is_named(value):
            return
        if value.producer is not None:
            graph.remove(value.producer)
        elif not graph.has_input(value) or self.model.ir_version < 4:
            graph.remove_input(value)
            graph.remove_initializer(value)

    def is_named(self, value: Value) -> bool:
        """Whether a training step or an annotation refers to the value."""
        bound = [
            v for s in self.model.training for p in (*s.initialization_binding, *s.update_binding) for v in p
        ]
        for annotation in self.model.graph.quantization_annotations:
            bound += [v for v in annotation.parameters.values() if isinstance(v, Value)]
        return value in bound
