"""Residuals: values of a loop's iterations that its gradient reads, and that the loop collects as additional scan outputs.

A scan output stacks the values of all iterations, so that their sizes must be equal.  Values of other sizes are not stored:
the gradient computes them again from stored ones.  It also computes again the results of nodes that only rearrange elements,
and values that are the same in every iteration.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import field

from sardonyx._src.convert.outline import read_values
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ir import Attribute, Graph, Node, TensorType, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.dims import Dim, Expr, has_opaque_part
from sardonyx._src.ir.walk import captures, graphs
from sardonyx._src.ops.backward_step import BackwardStep
from sardonyx._src.ops.registry import find

VIEWS = frozenset({"Expand", "Flatten", "Identity", "Reshape", "Split", "Squeeze", "Transpose", "Unsqueeze"})


@dataclass(frozen=True, slots=True)
class Slices:
    """A tensor that a Scan reads or writes in slices along an axis, one in each iteration, forwards (0) or backwards (1)."""

    tensor: Value
    axis: int = 0
    direction: int = 0


@dataclass(slots=True)
class Residuals:
    """The values that the node of a step, a Loop or Scan, collects for its gradient, each once.

    body: the body of the node.
    slices: the collected slices, by value of the body; at first those of the scan inputs.
    scan_outputs: the axis and direction of each scan output of a Scan.
    direction: the direction of the scan outputs that are added.
    """

    step: BackwardStep
    body: Graph
    slices: dict[Value, Slices]
    scan_outputs: list[tuple[int, int]] = field(default_factory=list)
    direction: int = 0

    def collect(self, value: Value) -> Slices:
        """All slices of a value of the body."""
        if value not in self.slices:
            self.slices[value] = Slices(self.add_scan_output(value), 0, self.direction)
        return self.slices[value]

    def add_scan_output(self, value: Value) -> Value:
        copy = Node("Identity", [value], [Value(f"{value.name}_residual", value.type)])
        self.step.graph.inside(self.body).append(copy)
        self.body.outputs.append(copy.outputs[0])
        node = self.step.node
        if node.op_type == "Scan":
            self.scan_outputs.append((0, self.direction))
            axes, directions = zip(*self.scan_outputs, strict=True)
            node.set_attribute(Attribute("scan_output_axes", AttributeType.INTS, axes))
            node.set_attribute(Attribute("scan_output_directions", AttributeType.INTS, directions))
        return node.add_output(Value(self.step.graph.fresh(f"{value.name}_residuals")))


def uniform_values(step: BackwardStep, body: Graph) -> set[Value]:
    """The tensors of the body of a step's node that have the same sizes in all iterations."""
    inputs = body.inputs if step.node.op_type == "Scan" else ()
    symbols = {name for value in (*step.node.inputs, *captures(body), *inputs) for name in symbols_of(value)}
    values = (*body.inputs, *(value for node in body.nodes for value in node.outputs))
    return {value for value in values if is_uniform(value, symbols)}


def storable_values(step: BackwardStep, body: Graph) -> set[Value]:
    """The values of the body of a step's node that are stored, rather than computed again in the gradient."""
    uniform = uniform_values(step, body)
    exported = {value for node in body.nodes for inner in node.subgraphs for value in outputs_within(inner)}
    varying, result = set(body.inputs), set[Value]()
    for node in body.nodes:
        if is_random(node) or not varying.isdisjoint(read_values(node)):
            varying.update(node.outputs)
            if node.op_type not in VIEWS:
                result.update(value for value in node.outputs if value in uniform and value not in exported)
    return result


def symbols_of(value: Value | None) -> Iterable[str]:
    """The symbols in the shape of a value."""
    shape = value.type.shape if value is not None and isinstance(value.type, TensorType) else None
    return (name for dim in shape or () if isinstance(dim, Expr) for name in dim.symbols())


def outputs_within(graph: Graph) -> Iterable[Value]:
    """The outputs of a subgraph and of those inside it."""
    return (value for inner in graphs(graph) for value in inner.outputs)


def is_random(node: Node) -> bool:
    op = find(node.domain, node.op_type)
    return op is not None and op.is_random


def is_uniform(value: Value, symbols: Collection[str]) -> bool:
    """Whether a value is a tensor whose sizes depend only on these symbols."""
    shape = value.type.shape if isinstance(value.type, TensorType) else None
    return bool(value.name) and shape is not None and all(is_fixed(dim, symbols) for dim in shape)


def is_fixed(dim: Dim, symbols: Collection[str]) -> bool:
    return isinstance(dim, int) or (
        isinstance(dim, Expr) and not has_opaque_part(dim) and dim.symbols() <= {*symbols}
    )


def reduce_body(
    step: BackwardStep, body: Graph, own: Graph, originals: Mapping[Value, Value]
) -> dict[Value, Value]:
    """Removes the nodes of a backward body that its outputs do not need, and makes stored values inputs of it.

    own: the body of the loop.  originals: the values of `own`, by their copies in `body`.
    Returns the new inputs, each with the stored value of `own` that it receives.
    """
    storable = storable_values(step, own)
    needed, stored, dead = set(body.outputs), list[Value](), list[Node]()
    for node in reversed(list(body.nodes)):
        live = [value for value in node.outputs if value in needed]
        if live and not all(originals.get(value) in storable for value in live):
            require_repeatable(step, node, originals)
            needed.update(read_values(node))
        else:
            stored += live
            dead.append(node)
    inputs = {}
    for value in reversed(stored):
        argument = body.add_input(Value(step.graph.fresh(f"{value.name}_residual"), value.type))
        value.replace_by(argument)
        inputs[argument] = originals[value]
    for node in dead:
        body.remove(node)
    return inputs


def require_repeatable(step: BackwardStep, node: Node, originals: Mapping[Value, Value]) -> None:
    """Refuses a node of the loop's body that would draw other random numbers when it is executed again."""
    if is_random(node) and "seed" not in node.attributes and any(v in originals for v in node.outputs):
        step.refuse(
            f"{node.op_type} in its body draws random numbers of sizes that are not known to be the same in all iterations; "
            "compute them outside of the loop"
        )
