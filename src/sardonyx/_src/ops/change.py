"""What a convert facet sees of one node, and how it says the same in another version of the operator set."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, Protocol, TypeAlias

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import ConversionError
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.build import attribute as make_attribute
from sardonyx._src.ir.graph import Attribute, Graph, Node, Value
from sardonyx._src.ir.tensors import Tensor
from sardonyx._src.ir.walk import location
from sardonyx._src.ops.inference import Inference
from sardonyx._src.schema import exact


@dataclass(frozen=True, slots=True)
class Kept:
    """The node itself, with other inputs or attributes, or under another name: what `Change.same` hands out."""

    op_type: str
    inputs: Sequence[Value | None]
    attributes: Mapping[str, Attribute]
    outputs: int


FIRST_CONSTANTS = (
    DataType.FLOAT,
    DataType.DOUBLE,
    DataType.FLOAT16,
)  # that a Constant of operator set 1 can hold
Converted: TypeAlias = Kept | Value | Sequence[Value | None]


class Place(Protocol):
    """Where new nodes go: the graph before the node that is converted."""

    def add(self, node: Node, change: Change) -> None:
        """Puts a node there; names and types its outputs.  Refused where operator set or element types do not fit."""
        ...

    def constant(self, tensor: Tensor, change: Change) -> Value:
        """A tensor as a Constant or, where the operator set has none of its type, as `initializer` has it."""
        ...

    def initializer(self, tensor: Tensor, change: Change) -> Value:
        """A tensor as an initializer; in a function, which has none, as a Constant cast to its type."""
        ...

    def fresh(self, wanted: str) -> str:
        """A name that nothing has yet."""
        ...


class Attributes(dict[str, object]):
    """Attribute values as facets take them; asking for one that a call of the function decides is refused."""

    def __init__(
        self, values: Mapping[str, object], references: Collection[str], refuse: Callable[[str], NoReturn]
    ) -> None:
        super().__init__(values)
        self.references = references
        self.refuse = refuse

    def __getitem__(self, name: str) -> object:
        self.check(name)
        return super().__getitem__(name)

    def get(self, name: str, default: object = None) -> object:
        self.check(name)
        return super().get(name, default)

    def check(self, name: str) -> None:
        if name in self.references:
            self.refuse(f"attribute {name!r} is decided by the calls of the function; inline it first")


@dataclass(slots=True)
class Change:
    """One node that is to say in operator set `target` of its domain what it says now.

    origin: the node of the model that is converted, of which this one has been made.
    t: the node as inference sees it, with types, attributes and known elements of the version in which it is written.
    What is added goes by `imports`, in which `target` is the version of the node's domain.
    """

    node: Node
    origin: Node
    t: Inference
    target: int
    imports: Mapping[str, int]
    place: Place
    filled: Collection[str] = ()  # attributes of the function around that every call gives
    added: list[Node] = field(default_factory=list)
    taken: dict[str, Attribute] = field(default_factory=dict)

    # --- what is there -------------------------------------------------------------------------

    def input(self, i: int) -> Value:
        """Input i, which has to be given."""
        found = self.optional(i)
        if found is None:
            self.refuse(f"input {i} is missing")
        return found

    def optional(self, i: int) -> Value | None:
        """Input i, or None where it is left out."""
        return self.node.inputs[i] if i < len(self.node.inputs) else None

    def wants(self, i: int) -> bool:
        """Whether output i is named."""
        return i < len(self.node.outputs) and bool(self.node.outputs[i].name)

    def has(self, name: str) -> bool:
        """Whether the node itself says something of an attribute."""
        return name in self.node.attributes

    def rank(self, i: int) -> int:
        """The rank of input i; refused where it is not known."""
        found = self.t.rank(i)
        if found is None:
            self.refuse(f"the rank of input {i} is not known")
        return found

    def shape(self, i: int) -> tuple[int, ...]:
        """The shape of input i; refused unless all sizes are known numbers."""
        found = self.t.shape(i)
        if found is None or not all(isinstance(d, int) for d in found):
            self.refuse(f"the sizes of input {i} have to be known, {self.t.type(i) or 'no type'} is")
        return tuple(d for d in found if isinstance(d, int))

    def dtype(self, i: int) -> DataType:
        """The element type of input i; refused where it is not known."""
        found = self.t.dtype(i)
        if found is None:
            self.refuse(f"the element type of input {i} is not known")
        return found

    def axis(self, name: str = "axis", i: int = 0) -> int:
        """An axis of input i that an attribute names, counted from the front."""
        axis = self.t.integer(name)
        return axis if axis >= 0 else self.t.axis(axis, self.rank(i))

    # --- what is said instead ------------------------------------------------------------------

    def same(
        self,
        inputs: Sequence[Value | None] | None = None,
        *,
        op_type: str = "",
        drop: Collection[str] = (),
        outputs: int | None = None,
        **attributes: object,
    ) -> Kept:
        """The node with other inputs, without some attributes, with others set; a value of None changes nothing.

        `outputs` keeps only the first ones.
        """
        added = {k: make_attribute(k, v) for k, v in attributes.items() if v is not None}
        return self.kept_with(added, inputs, op_type=op_type, drop=drop, outputs=outputs)

    def kept_with(
        self,
        attributes: Mapping[str, Attribute],
        inputs: Sequence[Value | None] | None = None,
        *,
        op_type: str = "",
        drop: Collection[str] = (),
        outputs: int | None = None,
    ) -> Kept:
        """What `same` hands out, with attributes that are made already."""
        found = {k: v for k, v in self.node.attributes.items() if k not in drop}
        found.update(attributes)
        kept = self.node.inputs if inputs is None else tuple(inputs)
        count = len(self.node.outputs) if outputs is None else outputs
        return Kept(op_type or self.node.op_type, trimmed(kept), found, count)

    def op(self, op_type: str, *inputs: Value | None, domain: str = "", **attributes: object) -> Value:
        """Adds a node of one output in front of the old one; an attribute of None is left out."""
        return self.ops(op_type, *inputs, outputs=1, domain=domain, **attributes)[0]

    def fresh(self, wanted: str) -> str:
        """A name that nothing has yet."""
        return self.place.fresh(wanted)

    def ops(
        self, op_type: str, *inputs: Value | None, outputs: int, domain: str = "", **attributes: object
    ) -> tuple[Value, ...]:
        """Adds a node of several outputs."""
        kept = {k: make_attribute(k, v) for k, v in attributes.items() if v is not None}
        return self.add(op_type, inputs, kept, outputs, domain)

    def add(
        self,
        op_type: str,
        inputs: Sequence[Value | None],
        attributes: dict[str, Attribute],
        outputs: int,
        domain: str = "",
    ) -> tuple[Value, ...]:
        stem = self.node.outputs[0].name if self.node.outputs else ""
        results = [Value(f"{stem}_{op_type}") for _ in range(outputs)]
        node = Node(op_type, trimmed(inputs), results, attributes, domain=domain)
        try:
            self.place.add(node, self)
        except ConversionError:
            node.set_inputs(())
            for graph in node.subgraphs:
                graph.release()
            raise
        self.added.append(node)
        return node.outputs

    def __getattr__(self, op_type: str) -> Callable[..., Value]:
        if not op_type[:1].isupper():
            raise AttributeError(f"Change has no {op_type!r}; operators begin with a capital letter")

        def call(*inputs: Value | None, **options: object) -> Value:
            return self.op(op_type, *inputs, **options)  # type: ignore[arg-type]  # checked by op itself

        return call

    def constant(self, values: object, dtype: DataType | None = None) -> Value:
        """The array-like `values` as a Constant; before operator set 9, which knows only some types, an initializer."""
        return self.place.constant(Tensor.of(values, dtype), self)

    def integers(self, values: object) -> Value:
        """Elements of int64 as `constant` gives them."""
        return self.constant(np.asarray(values, np.int64))

    def take_graph(self, name: str) -> Graph:
        """The graph of an attribute, which from now on belongs to a new node."""
        attribute = self.node.attributes[name]
        assert isinstance(attribute.value, Graph), f"{name} of {self.node!r} is no graph"
        self.taken[name] = self.node.attributes.pop(name)
        return attribute.value

    def renamed(self, name: str, new: str) -> Attribute | None:
        """An attribute of the node under another name."""
        found = self.node.attributes.get(name)
        return (
            None if found is None else Attribute(new, found.type, found.value, ref=found.ref, doc=found.doc)
        )

    # --- attributes that are inputs elsewhere --------------------------------------------------

    def as_input(self, name: str, dtype: DataType | None = None) -> Value | None:
        """The value of an attribute, or its default, as a Constant: numbers of INT(S) as int64, FLOAT(S) as float32.

        None where there is neither.  Inside a function the Constant may go on referring to a parameter.
        """
        attribute = self.node.attributes.get(name)
        if attribute is not None and attribute.ref:
            return self.parameter(attribute)
        found = self.t.attributes.get(name)
        if found is None:
            return None
        if dtype is None and isinstance(found, str):
            dtype = DataType.STRING
        is_float = any(isinstance(x, float) for x in (found if isinstance(found, tuple) else (found,)))
        return self.constant(found, dtype or (DataType.FLOAT if is_float else DataType.INT64))

    def parameter(self, attribute: Attribute) -> Value:
        """A Constant whose value is a parameter of the function around."""
        kind = self.kind_of(attribute)
        form = f"value_{kind.name.lower()}"
        if attribute.ref not in self.filled or self.imports.get("", 0) < 12:
            self.refuse(
                f"attribute {attribute.name!r} is decided by the calls of the function; inline it first"
            )
        return self.add("Constant", (), {form: Attribute(form, kind, None, ref=attribute.ref)}, 1)[0]

    def kind_of(self, attribute: Attribute) -> AttributeType:
        """The type of an attribute; a reference need not say it, as the operator does."""
        schema = exact(self.node.domain, self.node.op_type, self.t.version)
        declared = None if schema is None else schema.attributes.get(attribute.name)
        if attribute.type is not AttributeType.UNDEFINED or declared is None:
            return attribute.type
        return AttributeType[declared.type]

    def as_attribute(self, i: int, name: str, kind: AttributeType) -> Attribute | None:
        """Input i as an attribute: known elements, or the parameter that a Constant hands out; None: not given.

        Refused where the elements are not known.
        """
        value = self.optional(i)
        if value is None:
            return None
        if (found := reference(value)) is not None and found.name == f"value_{kind.name.lower()}":
            return Attribute(name, kind, None, ref=found.ref)
        elements = self.t.constant(i)
        if elements is None:
            self.refuse(f"{name} ({value.name!r}) is an attribute there and would have to be constant")
        flat = elements.reshape(-1).tolist()
        if kind in (AttributeType.FLOAT, AttributeType.FLOATS):
            with np.errstate(over="ignore"):
                wide = [x for x in flat if x == x and float(np.float32(x)) != x]
            if wide:
                self.refuse(f"{name} is {wide[0]}, which an attribute of type FLOAT cannot hold")
        if kind in (AttributeType.INT, AttributeType.FLOAT):
            if len(flat) != 1:
                self.refuse(f"{name} ({value.name!r}) has {len(flat)} elements; an attribute holds one")
            return Attribute(name, kind, flat[0])
        return Attribute(name, kind, tuple(flat))

    def refuse(self, why: str) -> NoReturn:
        """Raises ConversionError at this node."""
        raise ConversionError(
            why,
            domain=self.node.domain,
            op_type=self.node.op_type,
            version=self.t.version,
            target=self.target,
            location=location(self.origin),
        )


def trimmed(inputs: Sequence[Value | None]) -> Sequence[Value | None]:
    """Inputs without those left out at the end."""
    kept = list(inputs)
    while kept and kept[-1] is None:
        kept.pop()
    return kept


def reference(value: Value) -> Attribute | None:
    """The parameter that a Constant of a function hands out."""
    node = value.producer
    if node is None or node.op_type != "Constant" or node.domain:
        return None
    return next((a for a in node.attributes.values() if a.ref), None)
