"""The layers whose weights can be quantized: products of the main graph with a constant matrix."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Node, Tensor, Value
from sardonyx._src.ir.walk import nodes, roots
from sardonyx._src.ops.traits import MatrixProductKind
from sardonyx._src.quantize.report.report import KeptLayer
from sardonyx._src.rewrite.engine.view import View

SLOT = 1  # of the weight among the inputs of a product
FLOATS = (DataType.FLOAT, DataType.FLOAT16, DataType.BFLOAT16)


@dataclass(frozen=True, slots=True, eq=False)
class WeightLayer:
    """Products that read one weight.

    readers: the nodes, in the order of the graph.
    weight: the value of the constant.
    tensor: its elements.
    axis: the axis of the terms of a sum, 0 or 1.
    """

    readers: tuple[Node, ...]
    weight: Value
    tensor: Tensor
    axis: int

    @property
    def name(self) -> str:
        return layer_name(self.readers)

    @property
    def terms(self) -> int:
        return self.tensor.shape[self.axis]

    @property
    def operands(self) -> tuple[Value, ...]:
        """What the weight is multiplied by, in each reader."""
        return tuple(value for node in self.readers if (value := node.inputs[0]) is not None)


def find_layers(view: View) -> Iterator[WeightLayer | KeptLayer]:
    """The products with constant matrices, each weight once, in the order of the graph."""
    seen: set[Value] = set()
    for node in view.model.graph.nodes:
        if product_kind(view, node) is None:
            continue
        weight = node.inputs[SLOT]
        tensor = view.tensor(weight)
        if weight is None or tensor is None or weight in seen or len(tensor.shape) != 2:
            continue
        seen.add(weight)
        yield layer_of(view, weight, tensor)
    yield from inner_products(view)


def layer_of(view: View, weight: Value, tensor: Tensor) -> WeightLayer | KeptLayer:
    """The layer of a weight, or why it cannot be quantized."""
    readers = list(dict.fromkeys(node for node, _ in weight.uses))
    axes = {axis_of_terms(view, node) for node in readers if product_kind(view, node)}
    others = [node for node in readers if not reads_as_weight(view, node, weight)]
    name = layer_name(readers)
    if tensor.dtype not in FLOATS:
        return KeptLayer(name, f"its weight is {tensor.dtype.name}")
    if any(is_transposed(node, "transA") for node in readers):
        return KeptLayer(name, "its first operand is transposed")
    if others or len(axes) != 1:
        reader = others[0].op_type if others else "another product, along the other axis,"
        return KeptLayer(name, f"{reader} reads the weight, too")
    if not tensor.size:
        return KeptLayer(name, "its weight has no elements")
    return WeightLayer(tuple(readers), weight, tensor, axes.pop())


def reads_as_weight(view: View, node: Node, weight: Value) -> bool:
    slots = [slot for slot, value in enumerate(node.inputs) if value is weight]
    return product_kind(view, node) is not None and slots == [SLOT] and node.graph is view.model.graph


def product_kind(view: View, node: Node) -> MatrixProductKind | None:
    operator = view.operator_of(node)
    return operator.op.matrix_product if operator is not None and len(node.inputs) > SLOT else None


def axis_of_terms(view: View, node: Node) -> int:
    """The axis of the second operand along which a product sums."""
    return 1 if product_kind(view, node) == "gemm" and is_transposed(node, "transB") else 0


def is_transposed(node: Node, name: str) -> bool:
    attribute = node.attributes.get(name)
    return attribute is not None and attribute.value == 1


def layer_name(readers: Sequence[Node]) -> str:
    """The name of the first reader, or of what it computes."""
    return readers[0].name or readers[0].outputs[0].name


def inner_products(view: View) -> Iterator[KeptLayer]:
    """Products with constants of subgraphs and functions, which have no calibration data."""
    for graph in roots(view.model):
        for node in nodes(graph):
            if node.graph is not view.model.graph and product_kind(view, node):
                value = node.inputs[SLOT]
                if view.tensor(value) is not None:
                    yield KeptLayer(layer_name([node]), "it is in a subgraph or function: inline it first")
