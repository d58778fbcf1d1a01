"""An output [batch, length, width] computed at the last position alone, as a decoder's logits that choose the next token.

From the output upwards, nodes of which row i of a result depends only on row i of operands are computed at the last position:
elementwise operators, products with matrices, norms of the last axis.  They end where rows mix, as in attention, or where
another node or output needs all rows; a Slice takes the last row there.  So a run reads and multiplies the weights of these
nodes for one row of a prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Graph, Model, Node, Shape, TensorType, Type, Value
from sardonyx._src.ir.build import attribute
from sardonyx._src.ir.model import clone
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.ops.registry import find
from sardonyx._src.rewrite.engine.facts import Facts

MICROSOFT = "com.microsoft"
MIN_OPSET = 13  # broadcasts as the newest versions do, and has a Slice with inputs
ROW_AXIS = -2
SLICE_INPUTS = {
    "starts": -1,
    "ends": np.iinfo(np.int64).max,
    "axes": ROW_AXIS,
}


def keep_last_position(model: Model, output: str) -> Model:
    """A copy of the model whose output is [batch, 1, width]; the model itself if no node would compute less.

    output: the name of the output; every other output stays as it is.
    """
    if model.opset_imports.get("", 0) < MIN_OPSET or model.training or model.functions:
        return model
    copy = clone(model)
    facts = Facts(copy)
    logits = next((value for value in copy.graph.outputs if value.name == output), None)
    region = RowRegion.above(copy.graph, logits) if logits is not None else None
    inferred = logits.type if logits is not None else None
    facts.restore()
    if logits is None or region is None or not region.slots:
        return model
    region.slice_operands(copy.graph)
    logits.type = one_row(logits.type, inferred)
    return copy


@dataclass(frozen=True, slots=True)
class RowRegion:
    """Nodes that compute rows independently of each other, and that are needed for the last row alone.

    output: the value that leaves the region.
    slots: the inputs of each node that have the rows.
    """

    output: Value
    slots: Mapping[Node, tuple[int, ...]]

    @classmethod
    def above(cls, graph: Graph, output: Value) -> RowRegion | None:
        """The largest region that ends with an output; None if its shape has no rows, or a single one.

        The values of the graph have inferred types.
        """
        shape = shape_of(output)
        if len(shape) != 3 or shape[ROW_AXIS] in (None, 1) or output.uses:
            return None
        slots: dict[Node, tuple[int, ...]] = {}

        def is_needed_once(value: Value) -> bool:
            if value is output:
                return True
            return not value.is_graph_output and all(slot in slots.get(node, ()) for node, slot in value.uses)

        for node in reversed([*graph.nodes]):
            used = [value for value in node.outputs if value.uses or value.is_graph_output]
            if not used or not all(map(is_needed_once, used)):
                continue
            if all(has_rows(value, shape[ROW_AXIS]) for value in used):
                rows = row_slots(node)
                if rows:
                    slots[node] = rows
        return cls(output, slots)

    def slice_operands(self, graph: Graph) -> None:
        """Inserts a Slice of the last row of each operand that nodes outside the region compute."""
        names = FreshNames.of_graphs([graph])
        constants = [add_constant(graph, names, name, value) for name, value in SLICE_INPUTS.items()]
        sliced: dict[Value, Value] = {}
        for node in [*graph.nodes]:
            for slot in self.slots.get(node, ()):
                operand = node.inputs[slot]
                assert operand is not None, "rows have a value"
                if operand.producer in self.slots:
                    continue
                if operand not in sliced:
                    last = Value(names.fresh(f"{operand.name}_last"))
                    graph.insert_before(node, Node("Slice", [operand, *constants], [last]))
                    sliced[operand] = last
                node.set_input(slot, sliced[operand])
        for node in self.slots:  # what files declare of their results has all rows
            for value in node.outputs:
                value.type = None


def one_row(declared: Type | None, inferred: Type | None) -> TensorType:
    """The type of an output with one row.  declared: what the file says; where it says nothing, only numbers are stated."""
    assert isinstance(inferred, TensorType) and inferred.shape is not None, "the output has rows"
    shape: Shape = tuple(dim if isinstance(dim, int) else None for dim in inferred.shape)
    if isinstance(declared, TensorType) and declared.shape is not None and len(declared.shape) == len(shape):
        shape = declared.shape
    return TensorType(inferred.dtype, (*shape[:ROW_AXIS], 1, *shape[ROW_AXIS + 1 :]))


def add_constant(graph: Graph, names: FreshNames, name: str, value: int) -> Value:
    """The result of a new Constant, [1] int64; no initializer, so that the weights of the model stay as they are."""
    result = Value(names.fresh(f"last_{name}"))
    node = Node("Constant", [], [result], {"value_ints": attribute("value_ints", [value])})
    graph.insert_before(graph.nodes[0], node)
    return result


# --- nodes that keep rows apart --------------------------------------------------------------


def row_slots(node: Node) -> tuple[int, ...]:
    """The inputs of which row i alone determines row i of the results; none if rows mix, or if that is not certain."""
    if node.subgraphs:
        return ()
    rule = RULES.get((node.domain, node.op_type))
    if rule is not None:
        return rule(node)
    op = find(node.domain, node.op_type)
    is_separate = op is not None and op.elementwise and not op.is_random
    return broadcast_slots(node) if is_separate else ()


def broadcast_slots(node: Node) -> tuple[int, ...]:
    """All operands with rows; those that are broadcast along the rows have none."""
    shapes = [shape_of(value) if value is not None else () for value in node.inputs]
    if any(shape is UNKNOWN for shape in shapes):
        return ()
    return tuple(i for i, shape in enumerate(shapes) if len(shape) >= 2 and shape[ROW_AXIS] != 1)


def matrix_slots(node: Node) -> tuple[int, ...]:
    """The rows of a product by one matrix."""
    a, b = node.inputs[:2]
    is_rows = a is not None and b is not None and len(shape_of(a)) == 3 and len(shape_of(b)) == 2
    return (0,) if is_rows else ()


def packed_matrix_slots(node: Node) -> tuple[int, ...]:
    """The rows of a product by quantized weights; the other inputs are those of the matrix, and a bias of its columns."""
    return (0,) if node.inputs[0] is not None and len(shape_of(node.inputs[0])) == 3 else ()


def norm_slots(node: Node) -> tuple[int, ...]:
    """The rows of a norm of the last axis, whose scale and bias are vectors."""
    axis = node.attributes.get("axis")
    x, *vectors = node.inputs
    is_last = axis is None or axis.value in (-1, 2)
    are_vectors = all(vector is None or len(shape_of(vector)) <= 1 for vector in vectors)
    return (0,) if is_last and are_vectors and x is not None and len(shape_of(x)) == 3 else ()


def skip_norm_slots(node: Node) -> tuple[int, ...]:
    """The rows of a sum of two values, of which the last axis is normalized."""
    x, skip, *vectors = node.inputs
    are_rows = all(value is not None and len(shape_of(value)) == 3 for value in (x, skip))
    are_vectors = all(vector is None or len(shape_of(vector)) <= 1 for vector in vectors)
    is_same = are_rows and shape_of(x)[ROW_AXIS] == shape_of(skip)[ROW_AXIS]
    return (0, 1) if is_same and are_vectors else ()


RULES: Mapping[tuple[str, str], Callable[[Node], tuple[int, ...]]] = {
    ("", "Cast"): broadcast_slots,
    ("", "MatMul"): matrix_slots,
    ("", "LayerNormalization"): norm_slots,
    ("", "RMSNormalization"): norm_slots,
    ("", "SimplifiedLayerNormalization"): norm_slots,
    (MICROSOFT, "MatMulNBits"): packed_matrix_slots,
    (MICROSOFT, "SkipLayerNormalization"): skip_norm_slots,
    (MICROSOFT, "SkipSimplifiedLayerNormalization"): skip_norm_slots,
}


# --- shapes ----------------------------------------------------------------------------------

UNKNOWN = (None,) * 9  # of a value of unknown rank, which is no rank that a rule accepts


def shape_of(value: Value | None) -> tuple[object, ...]:
    """The inferred dims of a value."""
    if value is None or not isinstance(value.type, TensorType) or value.type.shape is None:
        return UNKNOWN
    return value.type.shape


def has_rows(value: Value, length: object) -> bool:
    """Whether a value is [batch, length, width]."""
    shape = shape_of(value)
    return len(shape) == 3 and shape[ROW_AXIS] == length
