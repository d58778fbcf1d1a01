"""The intermediate representation of graphs: Attribute, Value, Node and Graph, which refer to each other.

A value's uses and a node's inputs are changed only by methods such as `Node.set_input`, `Graph.append` and
`Graph.remove`, which keep both consistent.  Invariants: every input of a node is a value of its graph or of
an enclosing one, and nodes come after the producers of their inputs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from sardonyx._src.arguments import (
    items_of,
    require_integer,
    require_mapping,
    require_text,
    require_type,
)
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.tensors import SparseTensor, Tensor
from sardonyx._src.ir.types import Type

if TYPE_CHECKING:
    from sardonyx._src.ir.details import Declarations, SourceDetails
    from sardonyx._src.ir.devices import NodeDeviceConfiguration
    from sardonyx._src.ir.model import Function

Metadata: TypeAlias = dict[str, str]
MAX_SLOT = 1 << 20  # position of an input of a node
NOT_GRAPHS = frozenset((int, float, bytes))  # the most frequent types of attribute values, for a quick test
AttributeScalar: TypeAlias = "float | int | bytes | Tensor | SparseTensor | Graph | Type"
AttributeValue: TypeAlias = "AttributeScalar | tuple[AttributeScalar, ...] | None"


class WithMetadata:
    """An object with metadata; the map is created at first use, since most objects have none."""

    __slots__ = ("_metadata",)
    _metadata: Metadata | None

    @property
    def metadata(self) -> Metadata:
        if self._metadata is None:
            self._metadata = {}
        return self._metadata

    @property
    def has_metadata(self) -> bool:
        return bool(self._metadata)


class Attribute:
    """A named constant of a node, or a reference to a parameter of the enclosing function."""

    __slots__ = ("details", "doc", "name", "ref", "type", "value")

    def __init__(
        self, name: str, type: AttributeType, value: AttributeValue, *, ref: str = "", doc: str = ""
    ) -> None:
        """`value`: float, int, bytes (STRING), Tensor, SparseTensor, Graph, Type or a tuple of one of them;
        None when `ref` names the function attribute whose value is used."""
        self.name = name
        self.type = type
        self.value = value
        self.ref = ref
        self.doc = doc
        self.details: SourceDetails | None = None

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """The subgraphs that the attribute holds."""
        if isinstance(self.value, Graph):
            return (self.value,)
        if self.type is AttributeType.GRAPHS and isinstance(self.value, tuple):
            return tuple(g for g in self.value if isinstance(g, Graph))
        return ()

    def __repr__(self) -> str:
        return f"{self.name} = {'@' + self.ref if self.ref else repr(self.value)}"


class Value(WithMetadata):
    """An edge: the result of a node, an input of a graph or an initializer, and its uses.

    `initializer` is the tensor of an initializer, which on a graph's input is the input's default.  A node's
    output with an empty name is left out.
    """

    __slots__ = (
        "_uses",
        "details",
        "doc",
        "graph",
        "index",
        "initializer",
        "name",
        "producer",
        "type",
    )

    def __init__(
        self, name: str, type: Type | None = None, initializer: Tensor | SparseTensor | None = None
    ) -> None:
        self.name = name
        self.type = type
        self.initializer = initializer
        self.producer: Node | None = None
        self.index = 0  # among the producer's outputs
        self.graph: Graph | None = None  # of a graph's input or initializer
        self.doc = ""
        self._metadata = None
        self._uses: dict[tuple[Node, int], None] = {}
        self.details: SourceDetails | None = None

    @property
    def uses(self) -> tuple[tuple[Node, int], ...]:
        """Reader and input position of every use by a node, in this graph and in those inside it."""
        return tuple(self._uses)

    @property
    def owner(self) -> Graph | None:
        """The graph in which the value is defined."""
        return self.producer.graph if self.producer is not None else self.graph

    @property
    def is_graph_output(self) -> bool:
        owner = self.owner
        return owner is not None and any(v is self for v in owner.outputs)

    def replace_by(self, other: Value) -> None:
        """Makes every reader of this value, graph outputs of its own graph included, read `other`."""
        require_type("other", other, Value, "a Value")
        for node, slot in self.uses:
            node.set_input(slot, other)
        owner = self.owner
        if owner is not None:
            owner.outputs[:] = [other if v is self else v for v in owner.outputs]

    def __repr__(self) -> str:
        return f"Value({self.name!r}{', ' + str(self.type) if self.type else ''})"


OPERAND = (Value, type(None))  # the types of the inputs of a node


class Node(WithMetadata):
    """A call of an operator or of a model-local function."""

    __slots__ = (
        "_inputs",
        "_next",
        "_outputs",
        "_previous",
        "attributes",
        "details",
        "device_configurations",
        "doc",
        "domain",
        "graph",
        "name",
        "op_type",
        "overload",
    )

    def __init__(
        self,
        op_type: str,
        inputs: Sequence[Value | None] = (),
        outputs: Sequence[Value] = (),
        attributes: dict[str, Attribute] | None = None,
        *,
        domain: str = "",
        overload: str = "",
        name: str = "",
    ) -> None:
        """Takes `inputs` (None: an optional one left out) and becomes the producer of `outputs`."""
        self.op_type = op_type
        self.domain = domain
        self.overload = overload
        self.name = name
        self.doc = ""
        self.attributes = {} if attributes is None else attributes
        self.device_configurations: Sequence[NodeDeviceConfiguration] = ()
        self.graph: Graph | None = None
        self.details: SourceDetails | None = None
        self._metadata = None
        self._previous: Node | None = None
        self._next: Node | None = None
        try:  # which costs nothing; checking all arguments of all nodes of a file would
            self._inputs = tuple(inputs)
            self._outputs = tuple(outputs)
            slot = 0
            for value in self._inputs:
                if value is not None:
                    value._uses[self, slot] = None
                slot += 1
            slot = 0
            for output in self._outputs:
                output.producer = self
                output.index = slot
                slot += 1
            if attributes:
                for attribute in attributes.values():
                    if type(attribute.value) not in NOT_GRAPHS:
                        for graph in attribute.graphs:
                            graph.parent = self
        except (AttributeError, TypeError, ValueError):
            self._refuse(inputs, outputs, attributes)
            raise

    def _refuse(self, inputs: object, outputs: object, attributes: object) -> None:
        """Raises TypeError for the argument of the constructor that has a wrong type, after it has failed."""
        for value in getattr(self, "_inputs", ()):
            if isinstance(value, Value):
                value._uses = {use: None for use in value._uses if use[0] is not self}
        items_of("inputs", getattr(self, "_inputs", inputs), OPERAND, "Value or None")
        items_of("outputs", getattr(self, "_outputs", outputs), Value, "Value")
        if attributes is not None:
            require_mapping("attributes", attributes, str, Attribute, "names to Attribute")

    @property
    def inputs(self) -> tuple[Value | None, ...]:
        return self._inputs

    @property
    def outputs(self) -> tuple[Value, ...]:
        return self._outputs

    @property
    def subgraphs(self) -> tuple[Graph, ...]:
        if not self.attributes:
            return ()
        return tuple(g for a in self.attributes.values() for g in a.graphs)

    def set_input(self, slot: int, value: Value | None) -> None:
        """Makes input `slot` read `value`; a slot after the last one extends the list."""
        require_type("value", value, OPERAND, "a Value or None")
        require_integer("slot", slot, 0, MAX_SLOT)
        inputs = list(self._inputs) + [None] * (slot + 1 - len(self._inputs))
        old = inputs[slot]
        if old is not None:
            old._uses.pop((self, slot), None)
        inputs[slot] = value
        if value is not None:
            value._uses[self, slot] = None
        self._inputs = tuple(inputs)

    def set_inputs(self, values: Sequence[Value | None]) -> None:
        """Replaces all inputs."""
        values = items_of("values", values, OPERAND, "Value or None")
        for slot, old in enumerate(self._inputs):
            if old is not None:
                old._uses.pop((self, slot), None)
        self._inputs = tuple(values)
        for slot, value in enumerate(self._inputs):
            if value is not None:
                value._uses[self, slot] = None

    def take_output(self, slot: int, value: Value) -> None:
        """Transfers `value`, an output of a node to be erased, to output `slot` of this node.

        Uses of `value` are kept, and uses of the old output become uses of `value`.
        """
        require_type("value", value, Value, "a Value")
        require_integer("slot", slot, 0, len(self._outputs) - 1)
        old, producer = self._outputs[slot], value.producer
        if producer is None or producer is self:
            raise ValueError(f"value must be an output of another node; got {value!r}")
        old.replace_by(value)
        unnamed = Value("")
        unnamed.producer, unnamed.index = producer, value.index
        producer._outputs = (
            *producer._outputs[: value.index],
            unnamed,
            *producer._outputs[value.index + 1 :],
        )
        value.producer, value.index = self, slot
        self._outputs = (*self._outputs[:slot], value, *self._outputs[slot + 1 :])

    def drop_outputs(self, count: int) -> None:
        """Removes all outputs but the first `count`; the others must have no uses."""
        require_integer("count", count, 0)
        for value in self._outputs[count:]:
            if value._uses:
                raise ValueError(
                    f"the outputs to drop must have no uses; {value!r} of {self!r} is still read"
                )
        self._outputs = self._outputs[:count]

    def set_attribute(self, attribute: Attribute) -> None:
        require_type("attribute", attribute, Attribute, "an Attribute")
        self.attributes[attribute.name] = attribute
        for graph in attribute.graphs:
            graph.parent = self

    def __repr__(self) -> str:
        return f"Node({self.name!r}, {self.op_type})" if self.name else f"Node({self.op_type})"


class Graph(WithMetadata):
    """Inputs, initializers, nodes in order, outputs: the main graph, a subgraph or a function's body."""

    __slots__ = (
        "_count",
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
        "parent",
        "quantization_annotations",
    )

    def __init__(
        self, name: str = "", inputs: Iterable[Value] = (), initializers: Iterable[Value] = ()
    ) -> None:
        self.name = name
        self.doc = ""
        self.parent: Node | None = None  # the node that holds a subgraph
        self.function: Function | None = None  # whose body this is
        self.outputs: list[Value] = []
        self.quantization_annotations: list[QuantizationAnnotation] = []
        self.details: SourceDetails | None = None
        self.declarations: Declarations | None = None
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
        """The values with a tensor, by name; one that is an input too is that input's default."""
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
        """Removes an input; its uses are the caller's to replace."""
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
        node.graph = node._previous = (
            None  # _next is kept, so that iteration can continue from a removed node
        )
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
        for node in self.nodes:
            node.set_inputs(())
            for graph in node.subgraphs:
                graph.release()

    def __repr__(self) -> str:
        return f"Graph({self.name!r}, {self._count} nodes)"


def require_free(node: object) -> None:
    """Raises TypeError for anything but a node, and ValueError for one that is in a graph."""
    require_type("node", node, Node, "a Node")
    assert isinstance(node, Node), "the type has been checked"
    if node.graph is not None:
        raise ValueError(f"node must be in no graph; {node!r} is in {node.graph!r} already; remove it first")


new = object.__new__


def append_node(
    graph: Graph,
    op_type: str,
    domain: str,
    name: str,
    inputs: Sequence[Value | None],
    output: str,
    attributes: dict[str, Attribute],
) -> Node:
    """Adds a new node with one new output at the end of a graph, as `Node`, `Value` and `Graph.append` do.

    Reading a graph of many small nodes mostly constructs these two objects: without the calls of their
    constructors it takes half the time.
    """
    value, node = new(Value), new(Node)
    value.name = output
    value.type = value.initializer = value.graph = value.details = value._metadata = None
    value.producer = node
    value.index = 0
    value.doc = ""
    value._uses = {}
    node.op_type, node.domain, node.name = op_type, domain, name
    node.overload = node.doc = ""
    node.attributes = attributes
    node.device_configurations = ()
    node.details = node._metadata = node._next = None
    node._inputs = tuple(inputs)
    node._outputs = (value,)
    slot = 0
    for read in inputs:
        if read is not None:
            read._uses[node, slot] = None
        slot += 1
    for attribute in attributes.values():
        if type(attribute.value) not in NOT_GRAPHS:
            for subgraph in attribute.graphs:
                subgraph.parent = node
    node.graph = graph
    node._previous = last = graph._last
    if last is None:
        graph._first = node
    else:
        last._next = node
    graph._last = node
    graph._count += 1
    return node


def dismantle(graph: Graph) -> None:
    """Cuts the references between the nodes and values of a graph that is no longer used.

    They are then freed at once; the cycle collector would take several times as long.
    """
    for value in (*graph.inputs, *graph.initializers.values()):
        value._uses.clear()
    node = graph._first
    graph._first = graph._last = graph._positions = graph.parent = None
    graph.outputs = []
    while node is not None:
        for inner in node.subgraphs:
            dismantle(inner)
        for value in node._outputs:
            value._uses.clear()
        node._inputs = node._outputs = ()
        following, node._previous, node._next = node._next, None, None
        node = following


class NodeList:
    """The nodes of a graph in order; while walking, nodes may be added anywhere and the current one
    removed."""

    __slots__ = ("_graph",)

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __len__(self) -> int:
        return self._graph._count

    def __iter__(self) -> Iterator[Node]:
        node = self._graph._first
        while node is not None:
            if node.graph is self._graph:  # a node removed meanwhile still links to those after it
                yield node
            node = node._next

    def __reversed__(self) -> Iterator[Node]:
        node = self._graph._last
        while node is not None:
            before = node._previous
            yield node
            node = before

    def __getitem__(self, index: int) -> Node:
        """The node at `index`, found by walking."""
        for i, node in enumerate(self if index >= 0 else reversed(self)):
            if i == index or -1 - i == index:
                return node
        raise IndexError(f"node {index} of {len(self)}")


@dataclass(slots=True)
class QuantizationAnnotation:
    """`TensorAnnotation`: which values hold scale and zero point of another; a name that no value has is kept
    as a string."""

    tensor: Value | str
    parameters: dict[str, Value | str]
    details: SourceDetails | None = field(default=None, compare=False, repr=False)
