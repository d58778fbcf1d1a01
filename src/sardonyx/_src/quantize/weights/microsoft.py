"""Replaces products and tables by MatMulNBits and GatherBlockQuantized of com.microsoft, which onnxruntime runs natively.

Spec: com.microsoft MatMulNBits-1 GatherBlockQuantized-1, with weights as onnxruntime's own tools pack them: the codes of a
column are unsigned and lie in one row, low bits first; without zero points, the middle of the codes is zero.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sardonyx._src.ir import Array, Node, Value
from sardonyx._src.quantize.weights.algorithm import QuantizedWeight
from sardonyx._src.quantize.weights.grid import IntegerGrid
from sardonyx._src.quantize.weights.layers import WeightLayer, axis_of_terms, product_kind
from sardonyx._src.quantize.weights.rewriting import packed_tensor, remove_weight, replace_weight
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.engine.view import View

DOMAIN = "com.microsoft"
BLOCKS = (32, 64, 128)


def replace_with_contrib(
    edit: Edit, layer: WeightLayer, quantized: QuantizedWeight, grid: IntegerGrid
) -> None:
    """Replaces the readers of a layer; layers whose readers have no such form read a DequantizeLinear."""
    if not has_contrib_form(edit, layer):
        replace_weight(edit, layer, quantized, grid)
        return
    edit.model.opset_imports.setdefault(DOMAIN, 1)
    if layer.kind == "table":
        constants = table_constants(edit, layer, quantized, grid)
        attributes = {"gather_axis": 0, "quantize_axis": 1, "block_size": quantized.block, "bits": grid.bits}
        for reader in layer.readers:
            operands = [constants[0], reader.inputs[1], *constants[1:]]
            replace_node(edit, reader, "GatherBlockQuantized", operands, attributes)
    else:
        constants = packed_constants(edit, layer, quantized, grid)
        terms, columns = quantized.integers.shape
        attributes = {"K": terms, "N": columns, "bits": grid.bits, "block_size": quantized.block}
        for reader in layer.readers:
            bias = reader.inputs[2:3]
            padding: list[Value | None] = [None] * (5 - 1 - len(constants)) if bias else []
            operands = [reader.inputs[0], *constants, *padding, *bias]
            replace_node(edit, reader, "MatMulNBits", operands, attributes)
    remove_weight(edit, layer)


def has_contrib_form(view: View, layer: WeightLayer) -> bool:
    """Whether all readers can be MatMulNBits, or all of them GatherBlockQuantized, in the main graph or its subgraphs."""
    if view.imports_of(layer.readers[0]) is not view.model.opset_imports:
        return False
    if layer.kind == "table":
        return all(node.op_type == "Gather" for node in layer.readers)
    return layer.kind == "product" and all(is_plain_product(view, node, layer.axis) for node in layer.readers)


def is_plain_product(view: View, node: Node, axis: int) -> bool:
    """Whether a product is that of rows and columns, and adds at most one number to each column."""
    if product_kind(view, node) is None or axis_of_terms(view, node) != axis:
        return False
    row_type = view.type(node.inputs[0])
    if row_type is None or row_type.shape is None or len(row_type.shape) < 2:
        return False
    if product_kind(view, node) == "matmul":
        return True
    factors = [node.attributes[name].value for name in ("alpha", "beta") if name in node.attributes]
    bias = view.type(node.inputs[2]) if len(node.inputs) > 2 else None
    columns = view.type(node.outputs[0])
    if len(node.inputs) > 2 and (bias is None or bias.shape is None or columns is None or not columns.shape):
        return False
    has_bias_of_columns = bias is None or (columns is not None and bias.shape == (columns.shape or ())[-1:])
    return has_bias_of_columns and all(factor == 1 for factor in factors)


def table_constants(
    edit: Edit, layer: WeightLayer, quantized: QuantizedWeight, grid: IntegerGrid
) -> list[Value | None]:
    """The constant operands of GatherBlockQuantized, which reads no int8: such codes become unsigned ones."""
    name, first = layer.weight.name, layer.readers[0]
    stored = grid if grid.bits == 4 else IntegerGrid(grid.bits, symmetric=False)
    integers = quantized.integers if stored is grid else unsigned(quantized.integers, grid)
    scales = layer.stored(quantized.parameters.scales).astype(layer.tensor.dtype.numpy)
    operands: list[Value | None] = [
        edit.make_constant(packed_tensor(layer.stored(integers), stored), f"{name}_quantized", before=first),
        edit.make_constant(scales, f"{name}_scale", before=first),
    ]
    if not grid.symmetric:
        zero_points = packed_tensor(layer.stored(quantized.parameters.zero_points), stored)
        operands.append(edit.make_constant(zero_points, f"{name}_zero_point", before=first))
    return operands


def packed_constants(
    edit: Edit, layer: WeightLayer, quantized: QuantizedWeight, grid: IntegerGrid
) -> list[Value | None]:
    """The constant operands of MatMulNBits: codes [N, blocks, bytes], scales [N, blocks] and packed zero points."""
    name, first, block = layer.weight.name, layer.readers[0], quantized.block
    codes = unsigned(quantized.integers, grid)
    blocks, columns = quantized.parameters.scales.shape
    padded = np.full((columns, blocks * block), middle_code(grid), np.uint8)
    padded[:, : len(codes)] = codes.T
    rows = pack_rows(padded, grid.bits).reshape(columns, blocks, -1)
    scales = np.ascontiguousarray(quantized.parameters.scales.T).astype(layer.tensor.dtype.numpy)
    operands: list[Value | None] = [
        edit.make_constant(rows, f"{name}_quantized", before=first),
        edit.make_constant(scales, f"{name}_scale", before=first),
    ]
    if not grid.symmetric:
        zeros = pack_rows(quantized.parameters.zero_points.T.astype(np.uint8), grid.bits)
        operands.append(edit.make_constant(zeros, f"{name}_zero_point", before=first))
    return operands


def middle_code(grid: IntegerGrid) -> int:
    """The code of zero without zero points."""
    return 1 << (grid.bits - 1)


def unsigned(integers: Array, grid: IntegerGrid) -> Array:
    return (integers.astype(np.int16) - grid.least).astype(np.uint8)


def pack_rows(codes: Array, bits: int) -> Array:
    """The codes of each row in bytes, low bits first; rows end with a whole byte."""
    if bits == 8:
        return np.ascontiguousarray(codes)
    even = np.pad(codes, ((0, 0), (0, codes.shape[1] % 2)))
    return np.asarray(even[:, 0::2] | even[:, 1::2] << 4, np.uint8)


def replace_node(
    edit: Edit,
    node: Node,
    op_type: str,
    operands: Sequence[Value | None],
    attributes: dict[str, int],
) -> None:
    contrib = edit.make(op_type, operands, attributes, before=node, domain=DOMAIN)
    edit.replace_node(contrib, node)
