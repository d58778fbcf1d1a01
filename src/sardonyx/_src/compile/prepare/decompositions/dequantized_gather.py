"""Gather of rows of a block-quantized table: the codes and scales are gathered, and only these rows dequantized.

The results are equal, since blocks lie within rows.  The table stays a byte for each code: Gather has no integers of fewer
bits.  Otherwise all of it would be dequantized to float32 when the session is opened.
"""

from __future__ import annotations

from sardonyx._src.compile.prepare.decompositions import blocked_quantization
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, Tensor, Value
from sardonyx._src.rewrite.engine.edit import Edit

MIN_ELEMENTS = 1 << 16  # of a table; the floats of a smaller one take little memory
BYTES = {
    DataType.INT4: DataType.INT8,
    DataType.UINT4: DataType.UINT8,
    DataType.INT8: DataType.INT8,
    DataType.UINT8: DataType.UINT8,
}


def decompose(node: Node, edit: Edit) -> bool:
    value = node.inputs[0] if node.inputs else None
    source = None if value is None else value.producer
    if source is None or source.op_type != "DequantizeLinear" or source.domain:
        return False
    if edit.operator_of(source) is None or edit.operator_of(node) is None:
        return False
    attributes, indices = edit.attributes(source), edit.type(node.inputs[1])
    tensors = [edit.tensor(operand) for operand in source.inputs]
    table = tensors[0]
    if any(tensor is None for tensor in tensors) or table is None or indices is None or indices.shape is None:
        return False
    axis, size = attributes["axis"], attributes["block_size"]
    is_table = len(table.shape) == 2 and edit.attributes(node)["axis"] in (0, -2)
    if not is_table or axis not in (1, -1) or not size or table.dtype not in BYTES:
        return False
    if table.size < MIN_ELEMENTS:
        return False
    rows = [gather_rows(edit, node, tensor) for tensor in tensors if tensor is not None]
    stated = {**attributes, "axis": len(indices.shape)}
    dequantization = edit.make("DequantizeLinear", rows, stated, before=node)
    edit.replace_node(dequantization, node)
    blocked_quantization.decompose(dequantization, edit)
    return True


def gather_rows(edit: Edit, node: Node, tensor: Tensor) -> Value:
    """The rows of a constant that a Gather selects, with a byte for each integer."""
    dtype = BYTES.get(tensor.dtype, tensor.dtype)
    stored = tensor if dtype is tensor.dtype else Tensor.of(tensor.numpy().astype(dtype.numpy), dtype)
    constant = edit.make_constant(stored, "table", before=node)
    return edit.make("Gather", [constant, node.inputs[1]], {"axis": 0}, before=node).outputs[0]
