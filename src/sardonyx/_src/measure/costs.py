"""Operations, bytes and parameters of the nodes of a model, from its types, without running it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np

from sardonyx._src.arguments import require_mapping
from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.infer.walk import infer
from sardonyx._src.io.loading.load import ModelSource, resolve_model
from sardonyx._src.ir import Node, SparseTensor, TensorType, Value
from sardonyx._src.ir.dims import evaluate
from sardonyx._src.ir.walk import location, nodes
from sardonyx._src.measure.products import Shape, is_product, product_operations
from sardonyx._src.ops.registry import find


@dataclass(frozen=True, slots=True)
class NodeCost:
    """The cost of one execution of a node; None where sizes are unknown.

    output: the name of the first output.
    flops: the number of operations, two for a multiply-add.
    bytes: the size of all inputs and outputs.
    parameters: the number of elements of the initializers that the node reads.
    """

    node: str
    op_type: str
    output: str
    flops: int | None
    bytes: int | None
    parameters: int

    def as_json(self) -> dict[str, object]:
        return asdict(self)


def node_costs(model: ModelSource, dims: Mapping[str, int] | None = None) -> list[NodeCost]:
    """The costs of all nodes of the main graph and its subgraphs, in order, for these lengths of dimension variables.

    Other variables count as 1.  For products (MatMul, Gemm, Einsum, convolutions, recurrent layers, attention, chosen
    experts, Fourier transforms) the operations are counted; operators that only move data have none; all others have one
    operation for each element of their largest tensor.  Raises InferenceError for a model whose types contradict each other.
    """
    dims = {} if dims is None else dims
    require_mapping("dims", dims, str, (int, np.integer), "names of dims to lengths")
    typed = infer(resolve_model(model).copy())
    return [cost_of(node, dims) for node in nodes(typed.graph)]


def cost_of(node: Node, dims: Mapping[str, int]) -> NodeCost:
    inputs = [shape_of(value, dims) for value in node.inputs]
    outputs = [shape_of(value, dims) for value in node.outputs]
    sizes = [bytes_of(value, dims) for value in (*node.inputs, *node.outputs) if value is not None]
    parameters = sum(elements_of_initializer(value) for value in node.inputs if value is not None)
    output = next((str(value.type or "?") for value in node.outputs), "")
    known = [size for size in sizes if size is not None]
    total = sum(known) if len(known) == len(sizes) else None
    operator = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
    return NodeCost(location(node), operator, output, operations(node, inputs, outputs), total, parameters)


def shape_of(value: Value | None, dims: Mapping[str, int]) -> Shape | None:
    """The sizes of a tensor, with 1 for variables that `dims` does not have; None if they are unknown."""
    if value is None or not isinstance(value.type, TensorType) or value.type.shape is None:
        return None
    lengths = [
        None if dim is None else evaluate(dim, dict.fromkeys(symbols_of(dim), 1) | dict(dims))
        for dim in value.type.shape
    ]
    sizes = [length for length in lengths if length is not None]
    return sizes if len(sizes) == len(lengths) else None


def symbols_of(dim: object) -> frozenset[str] | set[str]:
    return dim.symbols() if hasattr(dim, "symbols") else set()


def bytes_of(value: Value, dims: Mapping[str, int]) -> int | None:
    shape = shape_of(value, dims)
    if shape is None or not isinstance(value.type, TensorType):
        return None
    if value.type.dtype in (DataType.STRING, DataType.UNDEFINED):  # strings have no fixed size
        return None
    return math.prod(shape) * value.type.dtype.bits // 8


def elements_of_initializer(value: Value) -> int:
    tensor = value.initializer
    if tensor is None:
        return 0
    return tensor.values.size if isinstance(tensor, SparseTensor) else tensor.size


def operations(node: Node, inputs: Sequence[Shape | None], outputs: Sequence[Shape | None]) -> int | None:
    """The operations of a node; None where its sizes are unknown, and for the nodes that hold subgraphs."""
    if node.subgraphs:
        return None
    if is_product(node):
        return product_operations(node, inputs, outputs)
    operator = find(node.domain, node.op_type)
    if operator is not None and operator.moves_data:
        return 0
    known = [math.prod(shape) for shape in (*inputs, *outputs) if shape is not None]
    return max(known) if known and outputs[:1] != [None] else None
