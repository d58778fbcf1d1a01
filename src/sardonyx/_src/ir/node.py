"""Nodes, the calls of a graph, and their attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from sardonyx._src.arguments import items_of, require_integer, require_mapping, require_type
from sardonyx._src.formatters import format_html
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.metadata import WithMetadata
from sardonyx._src.ir.tensors import SparseTensor, Tensor
from sardonyx._src.ir.types import Type
from sardonyx._src.ir.value import Value

if TYPE_CHECKING:
    from sardonyx._src.ir.details import SourceDetails
    from sardonyx._src.ir.devices import NodeDeviceConfiguration
    from sardonyx._src.ir.graph import Graph

MAX_SHOWN = 4  # inputs and outputs in the text of a node
MAX_SLOT = 1 << 20  # largest position of an input of a node
COMMON_NON_GRAPH_TYPES = frozenset(
    (int, float, bytes, Tensor)
)  # frequent types of attribute values, for a quick test
OPERAND = (Value, type(None))  # the types of the inputs of a node
AttributeScalar: TypeAlias = "float | int | bytes | Tensor | SparseTensor | Graph | Type"
AttributeValue: TypeAlias = "AttributeScalar | tuple[AttributeScalar, ...] | None"


class NestedGraph(WithMetadata):
    """The base class of `Graph`, which this module cannot import: a graph that may be an attribute of a node."""

    __slots__ = ("parent",)
    parent: Node | None  # the node that holds the graph; None for a main graph and the body of a function


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
        if isinstance(self.value, NestedGraph):
            return (self.value,)
        if self.type is AttributeType.GRAPHS and isinstance(self.value, tuple):
            return tuple(g for g in self.value if isinstance(g, NestedGraph))
        return ()

    def __repr__(self) -> str:
        return f"{self.name} = {'@' + self.ref if self.ref else repr(self.value)}"


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
        try:  # a `try` costs nothing, while checking all arguments of all nodes of a file would take time
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
                    if type(attribute.value) not in COMMON_NON_GRAPH_TYPES:
                        for graph in attribute.graphs:
                            graph.parent = self
        except (AttributeError, TypeError, ValueError):
            self._refuse(inputs, outputs, attributes)
            raise

    def _refuse(self, inputs: object, outputs: object, attributes: object) -> None:
        """After the constructor has failed: undoes its uses, and raises TypeError for the argument of a wrong type."""
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
        result: tuple[Graph, ...] = ()
        for attribute in self.attributes.values():  # a loop, since every walk over a model asks every node
            kind = type(attribute.value)
            if kind not in COMMON_NON_GRAPH_TYPES and (
                kind is not tuple or attribute.type is AttributeType.GRAPHS
            ):
                result += attribute.graphs
        return result

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

    def add_output(self, value: Value) -> Value:
        """Adds an output: makes this node the producer of `value`."""
        require_type("value", value, Value, "a Value")
        if value.owner is not None or value.producer is not None:
            raise ValueError(f"an output to add must have no owner; got {value!r}")
        value.producer, value.index = self, len(self._outputs)
        self._outputs = (*self._outputs, value)
        return value

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

    def _repr_html_(self) -> str:
        """The object as a table, in notebooks."""
        return format_html(self)

    def __repr__(self) -> str:
        """`Node('Conv_1', y = Conv(x, w, _))`, without attributes."""
        name = f"{self.name!r}, " if self.name else ""
        operator = f"{self.domain}.{self.op_type}" if self.domain else self.op_type
        inputs = ", ".join(
            "_" if value is None else repr(value.name)[1:-1] for value in self._inputs[:MAX_SHOWN]
        )
        outputs = ", ".join(repr(value.name)[1:-1] or "_" for value in self._outputs[:MAX_SHOWN])
        more_inputs = ", ..." * (len(self._inputs) > MAX_SHOWN)
        more_outputs = ", ..." * (len(self._outputs) > MAX_SHOWN)
        return f"Node({name}{outputs}{more_outputs} = {operator}({inputs}{more_inputs}))"
