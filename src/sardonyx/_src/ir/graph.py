"""The intermediate representation of graphs: Attribute, Value, Node and Graph, which refer to each other.

A value's uses and a node's inputs are changed only by methods such as `Node.set_input`, `Graph.append` and
`Graph.remove`, which keep both consistent.  Invariants: every input of a node is a value of its graph or of
an enclosing one, and nodes come after the producers of their inputs.

Values, nodes and attributes are defined in `value.py` and `node.py`; other packages import them from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from sardonyx._src.arguments import items_of, require_integer, require_text, require_type
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.formatters import format_html
from sardonyx._src.ir.node import Attribute, AttributeScalar, AttributeValue, NestedGraph, Node
from sardonyx._src.ir.node_list import NodeList
from sardonyx._src.ir.value import Value
from sardonyx._src.suggestions import did_you_mean

if TYPE_CHECKING:
    from sardonyx._src.ir.details import Declarations, SourceDetails
    from sardonyx._src.ir.model import Function

__all__ = [
    "Attribute",
    "AttributeScalar",
    "AttributeValue",
    "Graph",
    "Node",
    "QuantizationAnnotation",
    "Value",
]


# In the text of a graph: the number of inputs or outputs, and the number of characters of a name.
MAX_SHOWN_VALUES, MAX_SHOWN_NAME = 3, 60


class Graph(NestedGraph):
    """Inputs, initializers, nodes in order, outputs: the main graph, a subgraph or a function's body."""

    __slots__ = (
        "_count",
        "_deferred_uses",
        "_first",
        "_initializers",
        "_inputs",
        "_last",
        "_positions",
        "declarations",
        "details",
        "doc",
        "function",
        "name",
        "outputs",
        "quantization_annotations",
    )

    def __init__(
        self, name: str = "", inputs: Iterable[Value] = (), initializers: Iterable[Value] = ()
    ) -> None:
        self.name = name
        self.doc = ""
        self.parent: Node | None = None  # the node with this subgraph as an attribute
        self.function: Function | None = None  # the function with this graph as its body
        self.outputs: list[Value] = []
        self.quantization_annotations: list[QuantizationAnnotation] = []
        self.details: SourceDetails | None = None
        self.declarations: Declarations | None = None
        self._deferred_uses: list[Value] | None = (
            None  # the values whose uses are recorded at the first query
        )
        self._metadata = None
        self._inputs: dict[Value, None] = {}
        self._initializers: dict[str, Value] = {}
        self._first: Node | None = None
        self._last: Node | None = None
        self._count = 0
        self._positions: dict[Node, int] | None = None
        for value in items_of("inputs", inputs, Value, "Value"):
            self.add_input(value)
        for value in items_of("initializers", initializers, Value, "Value"):
            self.add_initializer(value)

    @property
    def inputs(self) -> tuple[Value, ...]:
        return tuple(self._inputs)

    @property
    def initializers(self) -> Mapping[str, Value]:
        """The values with a tensor, by name; the tensor of a value that is also an input is the input's default."""
        return self._initializers

    @property
    def nodes(self) -> NodeList:
        return NodeList(self)

    def add_input(self, value: Value, index: int | None = None) -> Value:
        require_type("value", value, Value, "a Value")
        require_integer("index", index, optional=True)
        if value.producer is not None:
            raise ValueError(f"an input must have no producer; {value!r} is an output of {value.producer!r}")
        value.graph = self
        if index is None:
            self._inputs[value] = None
        else:
            inputs = list(self._inputs)
            inputs.insert(max(-len(inputs), min(index, len(inputs))), value)
            self._inputs = dict.fromkeys(inputs)
        return value

    def remove_input(self, value: Value) -> None:
        """Removes an input; the caller must replace its uses."""
        require_type("value", value, Value, "a Value")
        self._inputs.pop(value, None)

    def has_input(self, value: Value) -> bool:
        """Whether a value is one of the inputs, in constant time."""
        return isinstance(value, Value) and value in self._inputs

    def add_initializer(self, value: Value) -> Value:
        require_type("value", value, Value, "a Value")
        if value.initializer is None:
            raise ValueError(f"an initializer must have a tensor; {value!r} has none")
        require_text("the name of an initializer", value.name)
        if value.name in self._initializers:
            raise ValueError(
                f"the names of initializers must differ; there is a second initializer {value.name!r}"
            )
        value.graph = self
        self._initializers[value.name] = value
        return value

    def remove_initializer(self, value: Value) -> None:
        """Removes an initializer; an input loses its default."""
        require_type("value", value, Value, "a Value")
        if self._initializers.get(value.name) is not value:
            raise ValueError(f"value must be an initializer of this graph; got {value!r}")
        del self._initializers[value.name]
        value.initializer = None

    def append(self, node: Node) -> Node:
        """Adds a node at the end."""
        require_free(node)
        node.graph = self
        last = self._last
        node._previous = last
        if last is None:
            self._first = node
        else:
            last._next = node
        self._last = node
        self._count += 1
        return node

    def insert_before(self, place: Node, node: Node) -> Node:
        """Adds a node just before `place`, which is in this graph."""
        require_free(node)
        require_type("place", place, Node, "a Node")
        if place.graph is not self:
            raise ValueError(f"place must be a node of this graph; got {place!r}")
        node.graph = self
        node._previous, node._next = place._previous, place
        if place._previous is None:
            self._first = node
        else:
            place._previous._next = node
        place._previous = node
        self._count += 1
        self._positions = None
        return node

    def insert_after(self, place: Node, node: Node) -> Node:
        """Adds a node just after `place`, which is in this graph."""
        require_type("place", place, Node, "a Node")
        if place.graph is not self:
            raise ValueError(f"place must be a node of this graph; got {place!r}")
        return self.append(node) if place._next is None else self.insert_before(place._next, node)

    def remove(self, node: Node) -> None:
        """Removes a node whose outputs have no uses, and its uses of its inputs."""
        require_type("node", node, Node, "a Node")
        if node.graph is not self:
            raise ValueError(f"node must be a node of this graph; got {node!r}")
        for value in node.outputs:
            if value._uses or value.is_graph_output:
                raise ValueError(f"a node to remove must have no uses; {value!r} of {node!r} is still read")
        node.set_inputs(())
        for graph in node.subgraphs:
            graph.release()
        before, after = node._previous, node._next
        if before is None:
            self._first = after
        else:
            before._next = after
        if after is None:
            self._last = before
        else:
            after._previous = before
        node.graph = node._previous = None
        # node._next is kept, so that iteration can continue from a removed node.
        self._count -= 1
        self._positions = None

    def position(self, node: Node) -> int:
        """The node's index, or -1; the indices of all nodes are computed together and cached."""
        require_type("node", node, Node, "a Node")
        if self._positions is None or len(self._positions) != self._count:
            self._positions = {node: i for i, node in enumerate(self.nodes)}
        return self._positions.get(node, -1)

    def clear(self) -> None:
        """Removes all nodes."""
        self.release()
        self._first = self._last = self._positions = None
        self._count = 0
        self.outputs.clear()

    def release(self) -> None:
        """Removes all uses by nodes of this graph, which has itself been removed."""
        self._record_uses()
        for node in self.nodes:
            node.set_inputs(())
            for graph in node.subgraphs:
                graph.release()

    def value(self, name: str) -> Value:
        """The value of this name that the graph itself defines: an input, an initializer or an output of a node.

        Raises InputError, with the closest name, if there is none.
        """
        require_text("name", name)
        named = {}
        for value in self._defined():
            if value.name == name:
                return value
            named[value.name] = value
        why = f"the graph has no value {name!r}{did_you_mean(name, filter(None, named))}"
        raise InputError(why, name=name)

    def _record_uses(self) -> None:
        """Records the uses, by nodes of this graph, of the values whose uses have been deferred.

        Complete maps are assigned, so that threads that query uses together find the same ones.
        """
        deferred = self._deferred_uses
        if deferred is None:
            return
        uses: dict[Value | None, dict[tuple[Node, int], None]] = {value: {} for value in deferred}
        for node in self.nodes:
            slot = 0
            for value in node._inputs:
                if value in uses:
                    uses[value][node, slot] = None
                slot += 1
        for value in deferred:
            value._uses = uses[value]
        self._deferred_uses = None

    def _defined(self) -> Iterator[Value]:
        """Every value that the graph itself defines."""
        yield from self._inputs
        yield from self._initializers.values()
        for node in self.nodes:
            yield from node.outputs

    def _repr_html_(self) -> str:
        """The object as a table, in notebooks."""
        return format_html(self)

    def __repr__(self) -> str:
        """`Graph('g', 2 nodes, x: float[N,2] -> y: float[N,2])`."""
        return f"Graph({describe_graph(self)})"


def describe_graph(graph: Graph) -> str:
    """Name, number of nodes, and the first inputs and outputs of a graph."""
    required = [value for value in graph._inputs if value.name not in graph._initializers]
    count = f"{graph._count} node{'s' * (graph._count != 1)}"
    return f"{graph.name!r}, {count}, {describe_values(required)} -> {describe_values(graph.outputs)}"


def describe_values(values: Sequence[Value]) -> str:
    shown = [f"{escape(value.name)}: {value.type or '?'}" for value in values[:MAX_SHOWN_VALUES]]
    more = len(values) - len(shown)
    return ", ".join([*shown, f"{more} more"] if more else shown) or "()"


def escape(name: str) -> str:
    """A name with control characters escaped, and of limited length."""
    text = repr(name)[1:-1]
    return text if len(text) <= MAX_SHOWN_NAME else f"{text[:MAX_SHOWN_NAME]}..."


def require_free(node: object) -> None:
    """Raises TypeError for anything but a node, and ValueError for one that is in a graph."""
    require_type("node", node, Node, "a Node")
    assert isinstance(node, Node), "the type has been checked"
    if node.graph is not None:
        raise ValueError(f"node must be in no graph; {node!r} is in {node.graph!r} already; remove it first")


@dataclass(slots=True)
class QuantizationAnnotation:
    """`TensorAnnotation` of onnx.proto: the values that hold scale and zero point of a quantized tensor.

    A name that no value has is kept as a string.
    """

    tensor: Value | str
    parameters: dict[str, Value | str]
    details: SourceDetails | None = field(default=None, compare=False, repr=False)
