"""AlgorithmBuilder: appends nodes to a graph of a training step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Graph, Tensor, TensorType, Value
from sardonyx._src.ir.build import GraphBuilder
from sardonyx._src.ir.names import FreshNames


class AlgorithmBuilder(GraphBuilder):
    """A builder whose names are free in the whole model, and which shares equal scalar constants."""

    def __init__(self, graph: Graph, opset: int, names: FreshNames) -> None:
        """opset: the version of ai.onnx.  names: the names in use, those of all graphs of the model."""
        super().__init__(opset, graph=graph)
        self.fresh_names = names
        self._shared: dict[tuple[object, ...], Value] = {}
        self._casts: dict[tuple[Value, DataType], Value] = {}

    def names(self, op_type: str, count: int) -> list[str]:
        return [self.fresh_names.fresh(f"train_{op_type.lower()}") for _ in range(count)]

    def scalar(self, number: float, dtype: DataType = DataType.FLOAT) -> Value:
        """A number as a constant of rank 0."""
        return self._share(Tensor.of(np.asarray(number, np.float64), dtype), "scalar")

    def integers(self, numbers: Sequence[int]) -> Value:
        """A constant vector: int64 [len(numbers)]."""
        return self._share(Tensor.of(np.asarray(numbers, np.int64)), "integers")

    def _share(self, tensor: Tensor, stem: str) -> Value:
        key = (tensor.dtype, tensor.shape, tensor.numpy().tobytes())
        if key not in self._shared:
            self._shared[key] = self.new_constant(f"train_{stem}", tensor)
        return self._shared[key]

    def new_constant(self, name: str, tensor: Tensor) -> Value:
        """An initializer under a free name that begins with `name`."""
        free = self.fresh_names.fresh(name)
        copy = Tensor(tensor.dtype, tensor.shape, tensor.storage, free)
        return self.graph.add_initializer(Value(free, TensorType(tensor.dtype, tensor.shape), copy))

    def cast(self, value: Value, source: DataType, target: DataType) -> Value:
        """A value of element type `source`, converted to `target`; itself if that is the same.  Equal casts are shared."""
        if source is target:
            return value
        if (value, target) not in self._casts:
            self._casts[value, target] = self.Cast(value, to=target)
        return self._casts[value, target]
