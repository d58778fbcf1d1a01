"""Weights of com.microsoft.MatMulNBits stay as they are packed in the model's file.

The body of the operator unpacks its weights by nodes, which constant folding would evaluate: a byte for each code of 2 or 4
bits, several times over.  Here the weights become a tensor of UINT2, UINT4 or UINT8 whose storage is the packed bytes;
DequantizeLinear reads it, as in the body, and a kernel packs it from the bytes (`partition.quantized.block_quantized_operand`).
Codes fill bytes from the low bits on, in the operator as in tensors of the specification.
"""

from __future__ import annotations

import numpy as np

from sardonyx._src import dtypes
from sardonyx._src.compile.kernels.block_quantized.blocks import unpack_rows
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Graph, Model, Node, Tensor, TensorType, Value
from sardonyx._src.ir.build import attribute
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ir.walk import graphs

DOMAIN = "com.microsoft"
CODE_TYPES = {2: DataType.UINT2, 4: DataType.UINT4, 8: DataType.UINT8}  # by bits
# By bits, the first version of ai.onnx whose DequantizeLinear has blocks of the type.
FIRST_BLOCKED = {2: 25, 4: 21, 8: 21}
ACCURACY_LEVEL = f"{DOMAIN}.accuracy_level"  # metadata: rows may be rounded as MatMulNBits permits


@dataclass(frozen=True, slots=True)
class PackedColumns:
    """The storage of a matrix [k, columns] of codes, of which each column is a row of packed bytes.

    rows: [columns, k * bits / 8] uint8.
    """

    rows: Array

    def array(self, dtype: DataType, shape: tuple[int, ...]) -> Array:
        return dtypes.unpack(self.rows.data, dtype, shape[::-1]).T


@dataclass(frozen=True, slots=True)
class ConstantNBits:
    """A MatMulNBits of constant weights, as its body reads it.

    rows: the packed weights [N, K * bits / 8] uint8.  scales, zeros: [N, blocks]; zeros as codes, uint8.
    """

    node: Node
    bits: int
    block_size: int
    rows: Array
    scales: Array
    zeros: Array


def view_packed_weights(model: Model) -> None:
    """Replaces the nodes of constant weights in the graphs of a model, in place; others are left to their bodies."""
    names: FreshNames | None = None
    for graph in graphs(model.graph):
        for node in list(graph.nodes):
            product = packed_product(node, model.opset_imports.get("", 0))
            if product is not None:
                names = names or FreshNames.of_graphs([model.graph])
                replace(product, graph, names)


def packed_product(node: Node, opset: int) -> ConstantNBits | None:
    """The product of a node whose blocks divide its rows, without a group for each column; None for any other node."""
    if (node.domain, node.op_type) != (DOMAIN, "MatMulNBits") or number(node, "weight_prepacked", 0):
        return None
    columns, k, size, bits = (number(node, name, 0) for name in ("N", "K", "block_size", "bits"))
    if bits not in CODE_TYPES or opset < FIRST_BLOCKED[bits] or min(columns, k, size) <= 0 or k % size:
        return None
    weights, scales, zeros = (constant_input(node, slot) for slot in (1, 2, 3))
    blocks = k // size
    if weights is None or weights.dtype != np.uint8 or weights.size * 8 != columns * k * bits or k * bits % 8:
        return None
    if scales is None or scales.dtype != np.float32 or scales.size != columns * blocks or has_input(node, 4):
        return None
    if has_input(node, 3):
        width = -(-blocks * bits // 8)
        if zeros is None or zeros.dtype != np.uint8 or zeros.size != columns * width:
            return None
        codes = unpack_rows(zeros.reshape(columns, width), bits)[:, :blocks]
    else:
        codes = np.full((columns, blocks), 1 << (bits - 1), np.uint8)
    return ConstantNBits(
        node, bits, size, weights.reshape(columns, -1), scales.reshape(columns, blocks), codes
    )


def replace(product: ConstantNBits, graph: Graph, names: FreshNames) -> None:
    node, dtype = product.node, CODE_TYPES[product.bits]
    k, columns = product.block_size * product.scales.shape[1], len(product.rows)
    codes = Tensor(dtype, (k, columns), PackedColumns(product.rows))
    zeros = Tensor.of(product.zeros.T.astype(dtype.numpy), dtype)
    operands = [add_constant(graph, tensor, names) for tensor in (codes, Tensor.of(product.scales.T), zeros)]
    weights = Value(names.fresh("weights"))
    stated = {"axis": attribute("axis", 0), "block_size": attribute("block_size", product.block_size)}
    dequantize = Node("DequantizeLinear", operands, [weights], stated, name=node.name)
    if level := number(node, "accuracy_level", 0):
        dequantize.metadata[ACCURACY_LEVEL] = str(level)
    graph.insert_before(node, dequantize)
    bias = node.inputs[5] if has_input(node, 5) else None
    result = Value(names.fresh("product"))
    matmul = Node("MatMul", [node.inputs[0], weights], [result], name=node.name)
    graph.insert_before(node, matmul)
    last = matmul
    if bias is not None:
        last = Node("Add", [result, bias], [Value("")], name=node.name)
        graph.insert_before(node, last)
    last.take_output(0, node.outputs[0])
    graph.remove(node)


def add_constant(graph: Graph, tensor: Tensor, names: FreshNames) -> Value:
    name = names.fresh("packed weights")
    return graph.add_initializer(Value(name, TensorType(tensor.dtype, tensor.shape), tensor))


def number(node: Node, name: str, default: int) -> int:
    value = node.attributes[name].value if name in node.attributes else default
    return value if isinstance(value, int) else default


def has_input(node: Node, slot: int) -> bool:
    return len(node.inputs) > slot and node.inputs[slot] is not None


def constant_input(node: Node, slot: int) -> Array | None:
    value = node.inputs[slot] if len(node.inputs) > slot else None
    literal = None if value is None else value.initializer
    return literal.numpy() if isinstance(literal, Tensor) else None
