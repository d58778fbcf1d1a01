"""Replaces the weight of a layer by integers and a DequantizeLinear."""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import pack
from sardonyx._src.ir import Array, Tensor, Value
from sardonyx._src.ir.tensors import RawStorage
from sardonyx._src.quantize.weights.algorithm import QuantizedWeight
from sardonyx._src.quantize.weights.grid import IntegerGrid
from sardonyx._src.quantize.weights.layers import SLOT, WeightLayer
from sardonyx._src.rewrite.engine.edit import Edit


def weight_of(layer: WeightLayer) -> Array:
    """The weight of a layer, float32 [terms, columns]."""
    stored = layer.tensor.numpy().astype(np.float32)
    return np.ascontiguousarray(stored.T) if layer.axis else stored


def replace_weight(edit: Edit, layer: WeightLayer, quantized: QuantizedWeight, grid: IntegerGrid) -> None:
    """All readers of the weight read one DequantizeLinear, in blocks along the axis of the terms."""
    first, name = layer.readers[0], layer.weight.name
    parameters, dtype = quantized.parameters, layer.tensor.dtype
    as_stored = np.transpose if layer.axis else np.asarray
    integers = packed_tensor(as_stored(quantized.integers), grid)
    inputs: list[Value | None] = [edit.make_constant(integers, f"{name}_quantized", before=first)]
    scales = as_stored(parameters.scales).astype(dtype.numpy)
    inputs.append(edit.make_constant(Tensor.of(scales, dtype), f"{name}_scale", before=first))
    if not grid.symmetric:
        zero_points = packed_tensor(as_stored(parameters.zero_points), grid)
        inputs.append(edit.make_constant(zero_points, f"{name}_zero_point", before=first))
    node = edit.make(
        "DequantizeLinear",
        inputs,
        {"axis": layer.axis, "block_size": quantized.block},
        before=first,
        value_names=[f"{name}_dequantized"],
    )
    for reader in layer.readers:
        operands = list(reader.inputs)
        operands[SLOT] = node.outputs[0]
        edit.update(reader, inputs=operands)
    if layer.weight.producer is None and not layer.weight.uses:
        edit.remove_initializer(layer.weight)


def packed_tensor(integers: Array, grid: IntegerGrid) -> Tensor:
    """A tensor that holds integers as they are stored: two in a byte for 4 bits."""
    values = np.ascontiguousarray(integers).astype(grid.dtype.numpy)
    return Tensor(grid.dtype, integers.shape, RawStorage(pack(values, grid.dtype)))
