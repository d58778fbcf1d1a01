"""Models of 16-bit floats on kernels of float32: nodes compute in float32, and what they make is rounded in between.

A value of 16 bits that nodes compute with has a *wide* one beside it, float32 with the same elements.  What a node makes
is rounded by a Cast to the 16 bits and one back, which become part of the kernels around.  So elements are what the
reference kernels make, which compute in float32, too, and round once.  Values of 16 bits are left where somebody wants
them: callers, and nodes that the host runs or that move what is of 16 bits anyway.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

from sardonyx._src.compile.elements import HALVES
from sardonyx._src.compile.registry import facet_of
from sardonyx._src.compile.roles import EXACT, Roles, dtype_of, has_halves, is_half
from sardonyx._src.compile.unrounded import between_products
from sardonyx._src.dtypes import DataType
from sardonyx._src.infer.ongoing import Ongoing
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.graph import Attribute, Graph, Model, Node, Value
from sardonyx._src.ir.tensors import Tensor
from sardonyx._src.ir.types import Shape, TensorType
from sardonyx._src.ir.walk import graphs
from sardonyx._src.schema import lookup

SMALL = 1 << 14  # elements of a constant that becomes float32 at once: kernels take larger ones as they are


def widen(model: Model, facts: Ongoing) -> bool:
    """Rewrites the graphs of a typed model; answers whether there was anything to do, and types are to be found anew."""
    if not has_casts(model) or not any(has_halves(n) for graph in graphs(model.graph) for n in graph.nodes):
        return False
    names = Names(model)
    found = [Widening(graph, Roles(graph, model, facts), names) for graph in graphs(model.graph)]
    for one in found:
        for node in list(one.graph.nodes):
            one.node(node)
    return True


def has_casts(model: Model) -> bool:
    """Whether kernels know Cast as the model has it: others of early operator sets are left to the host."""
    schema = lookup("", "Cast", model.opset_imports.get("", 0))
    return schema is not None and facet_of("", "Cast", schema.since_version) is not None


class Names:
    """Names that no value has."""

    def __init__(self, model: Model) -> None:
        self.taken: set[str] = set()
        for graph in graphs(model.graph):
            self.taken.update(value.name for value in (*graph.inputs, *graph.initializers.values()))
            self.taken.update(value.name for node in graph.nodes for value in node.outputs)

    def new(self, name: str) -> str:
        while name in self.taken:
            name += "'"
        self.taken.add(name)
        return name


class Widening:
    """The rewriting of one graph, node after node.

    wide: float32 values with the elements of those of 16 bits.
    """

    def __init__(self, graph: Graph, roles: Roles, names: Names) -> None:
        self.graph, self.roles, self.names = graph, roles, names
        self.unrounded = between_products(roles.of)
        self.wide: dict[Value, Value] = {}

    def node(self, node: Node) -> None:
        match self.roles.of.get(node):
            case "computes":
                self.computes(node, exact=node.op_type in EXACT or node in self.unrounded)
            case "moves":
                self.computes(node, exact=True)
            case "casts":
                self.casts(node)
            case "asks" if (value := node.inputs[0]) is not None and value in self.roles.computed:
                node.set_input(0, self.wide[value])

    # --- nodes -------------------------------------------------------------------------------

    def computes(self, node: Node, *, exact: bool) -> None:
        """The same node in float32."""
        if node.op_type == "Clip":
            self.limit(node)
        for slot, value in enumerate(node.inputs):
            if value is not None and is_half(value):
                node.set_input(slot, self.widened(value))
        outputs = [self.output(value) for value in node.outputs]
        made = Node(node.op_type, node.inputs, outputs, node.attributes, name=node.name)
        self.graph.insert_before(node, made)
        for slot, value in enumerate(node.outputs):
            if not is_half(value):
                made.take_output(slot, value)
            elif outputs[slot].name:
                self.round(value, outputs[slot], node, exact=exact)
        self.graph.remove(node)

    def limit(self, node: Node) -> None:
        """Gives a Clip without a limit the one that its own type has."""
        x = node.inputs[0]
        assert x is not None, f"{node!r} clips nothing"
        greatest = ml_dtypes.finfo(known_dtype(x).numpy).max
        for slot, limit in ((1, -greatest), (2, greatest)):
            if slot >= len(node.inputs) or node.inputs[slot] is None:
                made = self.new(x, "limit", shape=())
                made.initializer = Tensor.of(np.asarray(limit, DataType.FLOAT.numpy))
                node.set_input(slot, self.graph.add_initializer(made))

    def output(self, value: Value) -> Value:
        """What a node makes in the place of a value; one of no name where nobody reads it."""
        is_read = bool(value.name) and (bool(value.uses) or value in self.roles.outputs)
        if not is_half(value) or not is_read:
            return Value("")
        return self.new(value, "float")

    def casts(self, node: Node) -> None:
        """A Cast or CastLike from 16 bits, to them, or from one kind of them to the other."""
        source, y = node.inputs[0], node.outputs[0]
        assert source is not None, f"{node!r} casts nothing"
        to = known_dtype(y)
        is_same = to is dtype_of(source)
        if is_half(source):
            if to is DataType.FLOAT and source not in self.wide:
                self.wide[source] = y
                return
            source = self.widened(source)
        if to is DataType.FLOAT:
            self.replaced(node, Node("Identity", [source], [Value("")], name=node.name))
            return
        if to not in HALVES:
            self.replaced(node, cast(source, Value(""), to, node.name))
            return
        self.round(y, source, node, exact=is_same)
        self.graph.remove(node)

    def replaced(self, node: Node, made: Node) -> None:
        self.graph.insert_before(node, made)
        made.take_output(0, node.outputs[0])
        self.graph.remove(node)

    # --- values ------------------------------------------------------------------------------

    def round(self, value: Value, found: Value, node: Node, *, exact: bool) -> None:
        """Puts down, before `node` that made it, a value of 16 bits for the float32 that is found now.

        exact: whether these are such numbers already.
        """
        dtype = known_dtype(value)
        is_wanted, is_computed_with = self.roles.is_wanted(value), self.roles.is_computed_with(value)
        if exact or not is_computed_with:
            self.wide[value] = found
        elif is_wanted:
            half = self.put(found, self.new(value, "half", dtype), node)
            self.wide[value] = self.put(half, self.new(value, "wide"), node)
        else:
            self.take(value, found, node)
            self.wide[value] = self.put(value, self.new(value, "wide"), node)
            return
        if is_wanted:
            self.take(value, self.wide[value], node)
        else:
            value.replace_by(self.wide[value])

    def widened(self, value: Value) -> Value:
        """The wide value beside one of 16 bits."""
        if value not in self.wide:
            literal = value.initializer
            if isinstance(literal, Tensor) and literal.size <= SMALL:
                self.wide[value] = self.constant(value, literal)
            else:
                self.wide[value] = self.new(value, "wide")
                self.insert_early(cast(value, self.wide[value], DataType.FLOAT))
        return self.wide[value]

    def insert_early(self, made: Node) -> None:
        """Puts a node where its input is there, before all that reads it: so it is ready for any group of nodes."""
        value = made.inputs[0]
        producer = None if value is None else value.producer
        if producer is not None and producer.graph is self.graph:
            self.graph.insert_after(producer, made)
        else:
            self.graph.insert_before(self.graph.nodes[0], made)

    def constant(self, value: Value, literal: Tensor) -> Value:
        made = self.new(value, "wide")
        made.initializer = Tensor.of(literal.numpy().astype(DataType.FLOAT.numpy))
        return self.graph.add_initializer(made)

    def new(
        self, value: Value, what: str, dtype: DataType = DataType.FLOAT, shape: Shape | None = None
    ) -> Value:
        """A value of the same shape, if no other one is given, with a name of its own."""
        assert isinstance(value.type, TensorType), f"{value!r} is no tensor"
        found = value.type.shape if shape is None else shape
        return Value(self.names.new(f"{value.name}/{what}"), TensorType(dtype, found))

    def put(self, source: Value, made: Value, node: Node) -> Value:
        """Makes a new value by a Cast before the node."""
        self.graph.insert_before(node, cast(source, made, known_dtype(made)))
        return made

    def take(self, value: Value, source: Value, node: Node) -> None:
        """Makes a value of the node by a Cast before it."""
        made = cast(source, Value(""), known_dtype(value), node.name)
        self.graph.insert_before(node, made)
        made.take_output(0, value)


def known_dtype(value: Value) -> DataType:
    found = dtype_of(value)
    assert found is not None, f"{value!r} is no tensor"
    return found


def cast(source: Value, made: Value, to: DataType, name: str = "") -> Node:
    return Node("Cast", [source], [made], {"to": Attribute("to", AttributeType.INT, int(to))}, name=name)
