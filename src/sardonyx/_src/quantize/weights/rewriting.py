"""Replaces the weight of a layer by integers and a DequantizeLinear of ai.onnx."""

from __future__ import annotations

import numpy as np

from sardonyx._src.dtypes import pack
from sardonyx._src.ir import Array, Node, Tensor, Value
from sardonyx._src.ir.tensors import RawStorage
from sardonyx._src.quantize.weights.algorithm import QuantizedWeight
from sardonyx._src.quantize.weights.grid import IntegerGrid
from sardonyx._src.quantize.weights.layers import WeightLayer, first_in_root
from sardonyx._src.rewrite.engine.edit import Edit


def replace_weight(edit: Edit, layer: WeightLayer, quantized: QuantizedWeight, grid: IntegerGrid) -> None:
    """All readers of the weight read one DequantizeLinear, in blocks along the axis of the terms."""
    first = first_in_root(layer.readers)
    node = edit.make(
        "DequantizeLinear",
        operands_of(edit, layer, quantized, grid, first),
        {"axis": layer.axis, "block_size": None if layer.is_per_channel else quantized.block},
        before=first,
        value_names=[f"{layer.weight.name}_dequantized"],
    )
    for reader in layer.readers:
        operands = [node.outputs[0] if value is layer.weight else value for value in reader.inputs]
        edit.update(reader, inputs=operands)
    remove_weight(edit, layer)


def operands_of(
    edit: Edit, layer: WeightLayer, quantized: QuantizedWeight, grid: IntegerGrid, before: Node
) -> list[Value | None]:
    """The integers, the scales of the weight's type and, if there are any, the zero points."""
    integers = packed_tensor(layer.stored(quantized.integers), grid)
    constant = edit.make_constant(integers, f"{layer.weight.name}_quantized", before=before)
    return [
        constant,
        *parameters_of(edit, layer, quantized, grid, before, with_zero_points=not grid.symmetric),
    ]


def parameters_of(
    edit: Edit,
    layer: WeightLayer,
    quantized: QuantizedWeight,
    grid: IntegerGrid,
    before: Node,
    *,
    with_zero_points: bool,
) -> list[Value]:
    """The scales, of the weight's type, and the zero points."""
    name, parameters = layer.weight.name, quantized.parameters
    scales = Tensor.of(stored_parameters(layer, parameters.scales).astype(layer.tensor.dtype.numpy))
    result = [edit.make_constant(scales, f"{name}_scale", before=before)]
    if with_zero_points:
        zero_points = packed_tensor(stored_parameters(layer, parameters.zero_points), grid)
        result.append(edit.make_constant(zero_points, f"{name}_zero_point", before=before))
    return result


def stored_parameters(layer: WeightLayer, numbers: Array) -> Array:
    """Numbers of blocks [blocks, columns] as DequantizeLinear reads them: one for each channel, or for each block."""
    return numbers.reshape(-1) if layer.is_per_channel else layer.stored(numbers)


def remove_weight(edit: Edit, layer: WeightLayer) -> None:
    """Removes the initializer of a weight that no node reads any longer."""
    if layer.weight.producer is None and not layer.weight.uses and not layer.weight.is_graph_output:
        edit.remove_initializer(layer.weight)


def packed_tensor(integers: Array, grid: IntegerGrid) -> Tensor:
    """A tensor that holds integers as they are stored: two in a byte for 4 bits."""
    values = np.ascontiguousarray(integers).astype(grid.dtype.numpy)
    return Tensor(grid.dtype, integers.shape, RawStorage(pack(values, grid.dtype)))
