"""Proof that a model computes each row of a batch independently of the others, so that batching changes results at most by
rounding.

The *batch axis* of a value is the axis along which its rows lie.  The batch axis of every value is derived from the batch axes
of the inputs, node by node, in a copy of the model with the newest operator sets and inlined function calls.  The proof is
conservative: an operator without a rule is assumed to mix rows, and so are random numbers and subgraphs.
"""

from __future__ import annotations

from collections.abc import Sequence

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import SardonyxError
from sardonyx._src.grad.preparation import infer_types, inline_calls, update
from sardonyx._src.infer.state import InferenceState
from sardonyx._src.ir import Graph, Model, Node, TensorType, Value
from sardonyx._src.ir.dims import Expr, symbol
from sardonyx._src.ir.walk import location
from sardonyx._src.ops.bind import attributes_of, schema_of
from sardonyx._src.ops.registry import find
from sardonyx._src.serve.batching import row_rules
from sardonyx._src.serve.batching.row_rules.along_axes import reduction
from sardonyx._src.serve.batching.row_step import (
    CONSTANT,
    FILL_RULES,
    MIXED,
    ROW_COUNT,
    RULES,
    RowAxis,
    RowStep,
    shape_of,
)

assert row_rules.__all__, "the rules are registered"


@dataclass(frozen=True, slots=True)
class RowIndependence:
    """Whether rows are proved to be independent; `why`: the reason if they are not."""

    holds: bool
    why: str = ""


def batch_symbol(
    model_inputs: Sequence[TensorType | None], outputs: Sequence[TensorType | None]
) -> str | None:
    """The dimension variable that is the first dim of every input and output, and occurs in no other dim of an input.

    None if there is none.
    """
    shapes = [type.shape if type is not None else None for type in (*model_inputs, *outputs)]
    first = {shape[0] if shape else None for shape in shapes}
    dim = first.pop() if len(first) == 1 and model_inputs and outputs else None
    if not isinstance(dim, Expr) or len(dim.symbols()) != 1:
        return None
    (name,) = dim.symbols()
    others = [d for shape in shapes[: len(model_inputs)] if shape for d in shape[1:]]
    is_alone = not any(isinstance(d, Expr) and name in d.symbols() for d in others)
    return name if dim == symbol(name) and is_alone else None


def prove_row_independence(model: Model) -> RowIndependence:
    """Whether each row of the outputs depends only on the same row of the inputs."""
    inputs = [value for value in model.graph.inputs if value.initializer is None]
    types = [tensor_type(value) for value in inputs]
    symbol = batch_symbol(types, [tensor_type(value) for value in model.graph.outputs])
    if symbol is None:
        return RowIndependence(
            False, "the inputs and outputs do not all declare the same dimension variable as their first dim"
        )
    try:
        copy = update(model)
        inline_calls(copy)
        state = infer_types(copy)
        return RowFlow(copy, symbol, state).prove()
    except SardonyxError as error:
        return RowIndependence(False, f"its types cannot be inferred in the newest operator sets: {error}")


def tensor_type(value: Value) -> TensorType | None:
    return value.type if isinstance(value.type, TensorType) else None


class RowFlow:
    """The batch axes of the values of a graph.

    rows: the name of the dimension variable that is the number of rows.
    axes: the batch axis of each value so far.
    first_mixed: the first node that may mix rows.
    """

    def __init__(self, model: Model, rows: str, state: InferenceState) -> None:
        self.model, self.rows, self.state = model, rows, state
        self.axes: dict[Value, RowAxis] = {}
        self.first_mixed: Node | None = None

    def prove(self) -> RowIndependence:
        graph = self.model.graph
        for value in graph.initializers.values():
            self.axes[value] = CONSTANT
        for value in graph.inputs:
            if value.initializer is None:
                self.axes[value] = 0
        for node in graph.nodes:
            self.visit(node)
        return self.conclusion(graph)

    def conclusion(self, graph: Graph) -> RowIndependence:
        mixed = [value.name for value in graph.outputs if self.axes.get(value, MIXED) != 0]
        if not mixed:
            return RowIndependence(True)
        where = f": {location(self.first_mixed)} may mix them" if self.first_mixed is not None else ""
        return RowIndependence(False, f"rows of the output {mixed[0]!r} may depend on several rows{where}")

    def visit(self, node: Node) -> None:
        """Derives the batch axes of a node's outputs."""
        axes = [CONSTANT if value is None else self.axes.get(value, MIXED) for value in node.inputs]
        results = [
            self.without_rows(value, axis)
            for value, axis in zip(node.outputs, self.output_axes(node, axes), strict=True)
        ]
        if MIXED in results and self.first_mixed is None and MIXED not in axes:
            self.first_mixed = node
        self.axes.update(zip(node.outputs, results, strict=True))

    def output_axes(self, node: Node, axes: Sequence[RowAxis]) -> Sequence[RowAxis]:
        count = len(node.outputs)
        op = find(node.domain, node.op_type)
        if MIXED in axes or op is None or op.is_random or node.subgraphs:
            return [MIXED] * count
        schema = schema_of(node, self.model.opset_imports)
        step = RowStep(node, attributes_of(node, schema, {}), axes, self.rows, self.state.elements.get)
        if op.reads_shape:
            return [ROW_COUNT] * count
        if not any(isinstance(axis, int) for axis in axes):
            if (fill := FILL_RULES.get((node.domain, node.op_type))) is not None:
                return as_sequence(fill(step), count)
            return [ROW_COUNT if ROW_COUNT in axes else CONSTANT] * count
        if (rule := RULES.get((node.domain, node.op_type))) is not None:
            result = rule(step)
        elif op.reduction:
            result = reduction(step)
        else:
            result = step.broadcast() if op.elementwise else MIXED
        return as_sequence(result, count)

    def without_rows(self, value: Value, axis: RowAxis) -> RowAxis:
        """The dependence of a value, corrected by what inference knows of it.

        ROW_COUNT becomes CONSTANT if the known elements do not depend on the number of rows.  A batch axis becomes MIXED if the
        inferred shape does not depend on the number of rows along that axis.
        """
        if axis is ROW_COUNT:
            known = self.state.elements.get(value)
            return (
                CONSTANT if known is not None and is_free_of(known.ravel().tolist(), self.rows) else ROW_COUNT
            )
        if isinstance(axis, int):
            shape = shape_of(value)
            fits = shape is not None and axis < len(shape) and depends_on(shape[axis], self.rows)
            return axis if fits else MIXED
        return axis


def as_sequence(axes: RowAxis | Sequence[RowAxis], count: int) -> Sequence[RowAxis]:
    """The batch axes of `count` outputs: the same one for all, or one for each.  Outputs without an axis mix rows."""
    return [*axes, *[MIXED] * count][:count] if isinstance(axes, Sequence) else [axes] * count


def is_free_of(elements: Sequence[object], rows: str) -> bool:
    """Whether known elements are numbers or expressions without the number of rows."""
    return all(
        not (isinstance(x, Expr) and (rows in x.symbols() or not x.symbols())) and x is not None
        for x in elements
    )


def depends_on(dim: object, rows: str) -> bool:
    return isinstance(dim, Expr) and rows in dim.symbols()
