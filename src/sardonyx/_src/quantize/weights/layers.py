"""The layers whose weights can be quantized: products, convolutions, recurrences, and tables that rows are gathered from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.ir import Array, Node, Tensor, Value
from sardonyx._src.ir.walk import nodes
from sardonyx._src.ops.traits import MatrixProductKind
from sardonyx._src.quantize.report.report import KeptLayer
from sardonyx._src.rewrite.engine.facts import outermost_graph
from sardonyx._src.rewrite.engine.view import View

LayerKind: TypeAlias = Literal["product", "table", "convolution", "recurrence"]
FLOATS = (DataType.FLOAT, DataType.FLOAT16, DataType.BFLOAT16)
FIRST_BLOCKED = 21  # the first version of ai.onnx whose DequantizeLinear has blocks
LEAST_TERMS = 16  # of a table: shorter rows are those of shapes and flags
RECURRENT = ("LSTM", "GRU", "RNN")
READ_ALIKE = ("product", "table", "transposition")  # kinds of readers that may share a weight


@dataclass(frozen=True, slots=True, eq=False)
class WeightLayer:
    """Nodes that read one weight.

    readers: the nodes, in the order of the graph.
    weight: the value of the constant.
    tensor: its elements.
    kind: of the first reader that is not a Transpose.
    axis: the axis whose elements are divided into blocks.
    is_per_channel: whether all elements of an index along this axis share a scale instead, as output channels do.
    operands: what the weight is multiplied by, along this axis, in readers of the main graph.
    """

    readers: tuple[Node, ...]
    weight: Value
    tensor: Tensor
    kind: LayerKind
    axis: int
    is_per_channel: bool
    operands: tuple[Value, ...]

    @property
    def name(self) -> str:
        """The name of the first reader; of the weight, if the reader has several."""
        return self.weight.name if self.kind == "recurrence" else layer_name(self.readers)

    @property
    def key(self) -> tuple[str, ...]:
        """What the layer is called in each copy of the model."""
        return (self.weight.name, *(node.outputs[0].name for node in self.readers))

    @property
    def terms(self) -> int:
        """The number of elements of a column, which blocks divide."""
        length = self.tensor.shape[self.axis]
        return self.tensor.size // length if self.is_per_channel else length

    def matrix(self) -> Array:
        """The weight as [terms, columns], a view of the stored elements."""
        moved = np.moveaxis(self.tensor.numpy(), self.axis, 0)
        matrix = moved.reshape(len(moved), -1)
        return matrix.T if self.is_per_channel else matrix

    def stored(self, matrix: Array) -> Array:
        """Integers [terms, columns], or numbers of blocks [blocks, columns], in the order of the stored weight."""
        if self.is_per_channel:
            return matrix.T.reshape(self.tensor.shape)
        others = (*self.tensor.shape[: self.axis], *self.tensor.shape[self.axis + 1 :])
        return np.moveaxis(matrix.reshape(-1, *others), 0, self.axis)


def find_layers(view: View, bits: int) -> Iterator[WeightLayer | KeptLayer]:
    """The layers that read constant weights, each weight once, in the order of the graphs; weights of functions come last.

    bits: of the integers; those of convolutions have 8 with a scale for each output channel, 4 in blocks of input channels.
    """
    seen: set[Value] = set()
    for graph in (view.model.graph, *(function.body for function in view.model.functions.values())):
        order = {node: number for number, node in enumerate(nodes(graph))}
        for node in order:
            for slot, value in enumerate(node.inputs):
                kind = kind_of(view, node, slot)
                if value is None or kind in (None, "transposition") or value in seen:
                    continue
                tensor = view.tensor(value)
                if tensor is not None and value not in view.mutable and has_rank(kind, tensor):
                    seen.add(value)
                    readers = sorted({reader for reader, _ in value.uses}, key=order.__getitem__)
                    yield layer_of(view, value, tensor, readers, bits)


def kind_of(view: View, node: Node, slot: int) -> LayerKind | Literal["transposition"] | None:
    """How a node reads an input, if that may be a quantized weight."""
    if product_kind(view, node) is not None:
        return "product" if slot == 1 else None
    if view.operator_of(node) is None or node.domain:
        return None
    if node.op_type == "Gather":
        return "table" if slot == 0 and number_of(node, "axis") == 0 else None
    if node.op_type == "Conv":
        return "convolution" if slot == 1 else None
    if node.op_type in RECURRENT:
        return "recurrence" if slot in (1, 2) else None
    return "transposition" if node.op_type == "Transpose" else None


def has_rank(kind: str | None, tensor: Tensor) -> bool:
    """Whether a constant has the rank of a weight; a table of short rows is none."""
    rank = len(tensor.shape)
    if kind == "table":
        return rank == 2 and tensor.shape[1] >= LEAST_TERMS and tensor.dtype in FLOATS
    return rank >= 3 if kind in ("convolution", "recurrence") else rank == 2


def layer_of(
    view: View, weight: Value, tensor: Tensor, readers: Sequence[Node], bits: int
) -> WeightLayer | KeptLayer:
    """The layer of a weight, or why it cannot be quantized."""
    uses = [(node, kind_of(view, node, slot)) for node, slot in weight.uses]
    kinds = dict(uses)
    first = next(node for node in readers if kinds[node] not in (None, "transposition"))
    kind, name = kinds[first], layer_name([first])
    assert kind is not None and kind != "transposition", "a layer has a reader of a kind"
    if tensor.dtype not in FLOATS:
        return KeptLayer(name, f"its weight is {tensor.dtype.name}")
    if any(product_kind(view, node) == "gemm" and number_of(node, "transA") for node in readers):
        return KeptLayer(name, "its first operand is transposed")
    others = [node for node, other in uses if other != kind and not {kind, other} <= set(READ_ALIKE)]
    if others or weight.is_graph_output:
        reader = others[0].op_type if others else "the caller"
        return KeptLayer(name, f"{reader} reads the weight, too")
    if not tensor.size:
        return KeptLayer(name, "its weight has no elements")
    if view.imports_of(first).get("", 0) < FIRST_BLOCKED:
        return KeptLayer(name, f"its function uses an operator set before ai.onnx {FIRST_BLOCKED}")
    axis, is_per_channel = axis_of(view, first, kind, bits)
    operands = tuple(operands_of(view, readers, kinds, axis))
    return WeightLayer(tuple(readers), weight, tensor, kind, axis, is_per_channel, operands)


def axis_of(view: View, node: Node, kind: LayerKind, bits: int) -> tuple[int, bool]:
    """The axis of a layer's blocks, and whether they are channels."""
    if kind == "convolution":
        return (0, True) if bits == 8 else (1, False)
    return {"product": axis_of_terms(view, node), "table": 1, "recurrence": 2}[kind], False


def operands_of(
    view: View, readers: Sequence[Node], kinds: Mapping[Node, str | None], axis: int
) -> Iterator[Value]:
    """The first operands of products of the main graph that sum along an axis of the weight."""
    for node in readers:
        is_product = kinds[node] == "product" and node.graph is view.model.graph
        operand = node.inputs[0] if is_product and axis_of_terms(view, node) == axis else None
        if operand is not None:
            yield operand


def product_kind(view: View, node: Node) -> MatrixProductKind | None:
    operator = view.operator_of(node)
    return operator.op.matrix_product if operator is not None and len(node.inputs) > 1 else None


def axis_of_terms(view: View, node: Node) -> int:
    """The axis of the second operand along which a product sums."""
    return 1 if product_kind(view, node) == "gemm" and number_of(node, "transB") else 0


def number_of(node: Node, name: str) -> int:
    """An integer attribute whose default is 0."""
    attribute = node.attributes.get(name)
    return attribute.value if attribute is not None and isinstance(attribute.value, int) else 0


def layer_name(readers: Sequence[Node]) -> str:
    """The name of the first reader, or of what it computes."""
    return readers[0].name or readers[0].outputs[0].name


def first_in_root(readers: Sequence[Node]) -> Node:
    """The first node of an outermost graph that is one of the readers, or has it in a subgraph."""
    node = readers[0]
    while node.graph is not None and node.graph is not outermost_graph(node.graph):
        assert node.graph.parent is not None, "an inner graph belongs to a node"
        node = node.graph.parent
    return node
