"""What nodes do with floats of 16 bits: compute, move or cast them, ask for their number alone, or what stays as it is."""

from __future__ import annotations

from typing import Literal

from sardonyx._src.compile.elements import ELEMENTS, HALVES
from sardonyx._src.compile.elementwise.operators import FLOAT, SCALARS
from sardonyx._src.compile.nodes import is_typed
from sardonyx._src.compile.registry import facet_of
from sardonyx._src.dtypes import DataType
from sardonyx._src.infer.ongoing import Ongoing
from sardonyx._src.ir.graph import Graph, Model, Node, Value
from sardonyx._src.ir.types import TensorType
from sardonyx._src.ir.walk import graphs
from sardonyx._src.ops.bind import schema_of
from sardonyx._src.schema import OpSchema

Role = Literal["computes", "moves", "casts", "asks", "stays"]

# Those whose results are among their inputs, or whole numbers that 16 bits hold: nothing is left to round.
EXACT = frozenset({
    "Abs", "Ceil", "Clip", "Floor", "GlobalMaxPool", "Max", "MaxPool", "Min", "Neg", "ReduceMax", "ReduceMin", "Relu",
    "Round", "Sign", "ThresholdedRelu", "TopK", "Where",
})  # fmt: skip
MOVES = frozenset({
    "Concat", "DepthToSpace", "Dropout", "Expand", "Flatten", "Gather", "GatherElements", "GatherND", "Identity",
    "OneHot", "Pad", "Reshape", "Slice", "SpaceToDepth", "Split", "Squeeze", "TensorScatter", "Tile", "Transpose",
    "Trilu", "Unsqueeze",
})  # fmt: skip
SCATTERS = frozenset({"ScatterElements", "ScatterND"})  # which move, unless they have a reduction
ROWS = frozenset({
    "ArgMax", "ArgMin", "Attention", "AveragePool", "Conv", "ConvTranspose", "CumProd", "CumSum", "GRU", "Gemm",
    "GlobalAveragePool", "GlobalMaxPool", "GroupNormalization", "InstanceNormalization", "LRN", "LSTM",
    "LayerNormalization", "LogSoftmax", "LpPool", "MatMul", "MaxPool", "RMSNormalization", "RNN", "ReduceL1", "ReduceL2",
    "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum",
    "ReduceSumSquare", "Resize", "RotaryEmbedding", "Softmax", "TopK",
})  # fmt: skip
SIZES = frozenset({"Shape", "Size"})
ELEMENTWISE = frozenset(name for name, entry in SCALARS.items() if entry.types & FLOAT) | {"Where"}
COMPUTES = (ELEMENTWISE | ROWS) - {"Cast", "Identity", "QuantizeLinear", "DequantizeLinear"}


class Roles:
    """The roles of a graph's nodes."""

    def __init__(self, graph: Graph, model: Model, facts: Ongoing) -> None:
        self.model, self.facts = model, facts
        self.outputs = {value for one in graphs(model.graph) for value in one.outputs}
        self.of: dict[Node, Role] = {node: self.role(node) for node in graph.nodes if has_halves(node)}
        self.computed: set[Value] = set()  # values of 16 bits that are there as float32 first
        for node, role in self.of.items():
            if role == "moves" and not self.moves_wide(node):
                self.of[node] = "stays"
            elif role in ("computes", "moves") or (role == "casts" and is_half(node.outputs[0])):
                self.computed.update(filter(is_half, node.outputs))

    def moves_wide(self, node: Node) -> bool:
        """Whether a node is to move float32: some of it is computed, and nobody wants 16 bits of all of it."""
        there = [value in self.computed for value in node.inputs if is_half(value)]
        return any(there) and (all(there) or not any(map(self.is_wanted, node.outputs)))

    def is_wanted(self, value: Value) -> bool:
        """Whether somebody reads a value itself: a caller, or a node that does not compute with float32."""
        return value in self.outputs or any(self.of.get(node, "stays") == "stays" for node, _ in value.uses)

    def is_computed_with(self, value: Value) -> bool:
        return any(self.of.get(node) in ("computes", "moves", "casts") for node, _ in value.uses)

    def role(self, node: Node) -> Role:
        schema = self.schema(node)
        if schema is None or not all(map(has_sizes, (*node.inputs, *node.outputs))):
            return "stays"
        if node.op_type in ("Cast", "CastLike"):
            return "casts" if is_castable(node) else "stays"
        if not takes_floats(node, schema):
            return "stays"
        if node.op_type in SIZES:
            return "asks"
        if facet_of("", node.op_type, schema.since_version) is None:
            return "stays"
        if node.op_type in MOVES or (node.op_type in SCATTERS and not combines(node)):
            return "moves"
        return "computes" if node.op_type in COMPUTES | SCATTERS else "stays"

    def schema(self, node: Node) -> OpSchema | None:
        """The signature of a node that runs; None for functions, and for nodes with graphs inside."""
        is_function = (node.domain, node.op_type, node.overload) in self.model.functions
        if is_function or node.domain or node.subgraphs or self.facts.refuses(node):
            return None
        found = schema_of(node, self.model.opset_imports)
        return found if is_typed(node, found) else None


def dtype_of(value: Value | None) -> DataType | None:
    """The element type of a tensor, if that is known."""
    return value.type.dtype if value is not None and isinstance(value.type, TensorType) else None


def is_half(value: Value | None) -> bool:
    return dtype_of(value) in HALVES


def has_sizes(value: Value | None) -> bool:
    """Whether kernels may hold a value, if it is of 16 bits: the host keeps what has unknown sizes."""
    if value is None or not isinstance(value.type, TensorType) or value.type.dtype not in HALVES:
        return True
    return value.type.shape is not None and None not in value.type.shape


def has_halves(node: Node) -> bool:
    return any(map(is_half, (*node.inputs, *node.outputs)))


def takes_floats(node: Node, schema: OpSchema) -> bool:
    """Whether every input of 16 bits may be float32 as well, which its outputs are then, too."""
    taken = [schema.input(i) for i, value in enumerate(node.inputs) if is_half(value)]
    made = [schema.output(i) for i, value in enumerate(node.outputs) if is_half(value)]
    kinds = {one.type for one in taken if one is not None}
    if None in taken or any(one is None or one.type not in kinds for one in made):
        return False
    return all("tensor(float)" in schema.allowed(one) for one in taken if one is not None)


def combines(node: Node) -> bool:
    """Whether a scatter takes what it writes together with what is there."""
    reduction = node.attributes.get("reduction")
    return reduction is not None and reduction.value != b"none"


def is_castable(node: Node) -> bool:
    """Whether kernels know both element types."""
    return dtype_of(node.inputs[0]) in ELEMENTS and dtype_of(node.outputs[0]) in ELEMENTS
