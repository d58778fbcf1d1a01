"""Version adapters: the context in which a convert facet replaces one node by its counterpart in another version."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field
from typing import NoReturn, Protocol, TypeAlias

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import ConversionError
from sardonyx._src.ir import Attribute, Graph, Node, Tensor, Value
from sardonyx._src.ir.attributes import AttributeType
from sardonyx._src.ir.build import attribute as make_attribute
from sardonyx._src.ir.walk import location
from sardonyx._src.ops.node_context import NodeContext, trim_absent_inputs
from sardonyx._src.schema import exact


@dataclass(frozen=True, slots=True)
class SameOp:
    """The node itself with other inputs, attributes or another name, as `Adapter.same` returns it."""

    op_type: str
    inputs: Sequence[Value | None]
    attributes: Mapping[str, Attribute]
    outputs: int


# The element types of a Constant of operator set 1.
FIRST_CONSTANTS = (DataType.FLOAT, DataType.DOUBLE, DataType.FLOAT16)
AdaptedNode: TypeAlias = SameOp | Value | Sequence[Value | None]


class InsertionPoint(Protocol):
    """The position before the converted node, at which new nodes are inserted."""

    def add(self, node: Node, adapter: Adapter) -> None:
        """Insert a node, and give its outputs names and types; refuses a node that the operator set does not allow."""
        ...

    def constant(self, tensor: Tensor, adapter: Adapter) -> Value:
        """A tensor as a Constant; if the operator set has no Constant of its type, the value that `initializer` returns."""
        ...

    def initializer(self, tensor: Tensor, adapter: Adapter) -> Value:
        """A tensor as an initializer; in a function, which has none, as a Constant cast to its type."""
        ...

    def fresh(self, name: str) -> str:
        """An unused name derived from `name`."""
        ...


class Attributes(dict[str, object]):
    """The attribute values that facets are given; access to a parameter of the enclosing function is refused."""

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
            self.refuse(f"attribute {name!r} is a parameter of the function; inline the function first")


@dataclass(slots=True)
class Adapter(NodeContext):
    """One node to be replaced by its counterpart in operator set `target` of its domain.

    origin: the node of the model that earlier steps have converted to this one
    inference: the node as inference sees it, in the version that it is converted from
    imports: the operator sets of new nodes, in which `target` is the version of the node's domain
    bound_parameters: the parameters of the enclosing function that every call sets
    """

    origin: Node
    target: int
    imports: Mapping[str, int]
    insertion_point: InsertionPoint
    bound_parameters: Collection[str] = ()
    added: list[Node] = field(default_factory=list)
    detached: dict[str, Attribute] = field(default_factory=dict)

    # --- the node ------------------------------------------------------------------------------

    def has(self, name: str) -> bool:
        """Whether the node itself sets an attribute."""
        return name in self.node.attributes

    # --- the replacement -----------------------------------------------------------------------

    def same(
        self,
        inputs: Sequence[Value | None] | None = None,
        *,
        op_type: str = "",
        drop: Collection[str] = (),
        outputs: int | None = None,
        **attributes: object,
    ) -> SameOp:
        """The node with other inputs, some attributes dropped and others set; a value of None changes nothing.

        `outputs` keeps only the first ones.
        """
        added = {k: make_attribute(k, v) for k, v in attributes.items() if v is not None}
        return self.same_with(added, inputs, op_type=op_type, drop=drop, outputs=outputs)

    def same_with(
        self,
        attributes: Mapping[str, Attribute],
        inputs: Sequence[Value | None] | None = None,
        *,
        op_type: str = "",
        drop: Collection[str] = (),
        outputs: int | None = None,
    ) -> SameOp:
        """The result of `same`, with `attributes` as given."""
        merged = {k: v for k, v in self.node.attributes.items() if k not in drop}
        merged.update(attributes)
        operands = self.node.inputs if inputs is None else tuple(inputs)
        count = len(self.node.outputs) if outputs is None else outputs
        return SameOp(op_type or self.node.op_type, trim_absent_inputs(operands), merged, count)

    def fresh(self, name: str) -> str:
        """An unused name derived from `name`."""
        return self.insertion_point.fresh(name)

    def add(
        self,
        op_type: str,
        inputs: Sequence[Value | None],
        attributes: Mapping[str, Attribute],
        outputs: int,
        domain: str = "",
    ) -> tuple[Value, ...]:
        """Adds a node before the old one."""
        stem = self.node.outputs[0].name if self.node.outputs else ""
        results = [Value(f"{stem}_{op_type}") for _ in range(outputs)]
        node = Node(op_type, trim_absent_inputs(inputs), results, dict(attributes), domain=domain)
        try:
            self.insertion_point.add(node, self)
        except ConversionError:
            node.set_inputs(())
            for graph in node.subgraphs:
                graph.release()
            raise
        self.added.append(node)
        return node.outputs

    def constant(self, values: object, dtype: DataType | None = None) -> Value:
        """The array-like `values` as a Constant; before operator set 9, which knows only some types, an initializer."""
        return self.insertion_point.constant(Tensor.of(values, dtype), self)

    def take_graph(self, name: str) -> Graph:
        """The graph of an attribute, moved out of the node for use in a new one."""
        attribute = self.node.attributes[name]
        assert isinstance(attribute.value, Graph), f"{name} of {self.node!r} is no graph"
        self.detached[name] = self.node.attributes.pop(name)
        return attribute.value

    def rename_attribute(self, name: str, new: str) -> Attribute | None:
        """An attribute of the node under another name."""
        attribute = self.node.attributes.get(name)
        return (
            None
            if attribute is None
            else Attribute(new, attribute.type, attribute.value, ref=attribute.ref, doc=attribute.doc)
        )

    # --- attributes that become inputs, and back ------------------------------------------------

    def as_input(self, name: str, dtype: DataType | None = None) -> Value | None:
        """The value of an attribute, or its default, as a Constant: numbers of INT(S) as int64, FLOAT(S) as float32.

        None if there is neither.  Inside a function the Constant may keep a reference to a parameter.
        """
        attribute = self.node.attributes.get(name)
        if attribute is not None and attribute.ref:
            return self.parameter(attribute)
        value = self.inference.attributes.get(name)
        if value is None:
            return None
        if dtype is None and isinstance(value, str):
            dtype = DataType.STRING
        is_float = any(isinstance(x, float) for x in (value if isinstance(value, tuple) else (value,)))
        return self.constant(value, dtype or (DataType.FLOAT if is_float else DataType.INT64))

    def parameter(self, attribute: Attribute) -> Value:
        """A Constant whose value is a parameter of the enclosing function."""
        kind = self.kind_of(attribute)
        form = f"value_{kind.name.lower()}"
        if attribute.ref not in self.bound_parameters or self.imports.get("", 0) < 12:
            self.refuse_parameter(attribute.name)
        return self.add("Constant", (), {form: Attribute(form, kind, None, ref=attribute.ref)}, 1)[0]

    def kind_of(self, attribute: Attribute) -> AttributeType:
        """The type of an attribute; for an untyped reference, the type that the signature declares."""
        schema = exact(self.node.domain, self.node.op_type, self.inference.version)
        declared = None if schema is None else schema.attributes.get(attribute.name)
        if attribute.type is not AttributeType.UNDEFINED or declared is None:
            return attribute.type
        return AttributeType[declared.type]

    def as_attribute(self, i: int, name: str, kind: AttributeType) -> Attribute | None:
        """Input i as an attribute: its known elements, or the parameter of its Constant; None if it is omitted.

        Refused if the elements are not known.
        """
        value = self.optional(i)
        if value is None:
            return None
        if (
            referenced := referenced_parameter(value)
        ) is not None and referenced.name == f"value_{kind.name.lower()}":
            return Attribute(name, kind, None, ref=referenced.ref)
        elements = self.inference.constant(i)
        if elements is None:
            self.refuse(
                f"{name} ({value.name!r}) must be constant, as it is an attribute in the target version"
            )
        flat = elements.reshape(-1).tolist()
        if kind in (AttributeType.FLOAT, AttributeType.FLOATS):
            with np.errstate(over="ignore"):
                wide = [x for x in flat if x == x and float(np.float32(x)) != x]
            if wide:
                self.refuse(f"{name} must fit an attribute of type FLOAT; got {wide[0]}")
        if kind in (AttributeType.INT, AttributeType.FLOAT):
            if len(flat) != 1:
                self.refuse(
                    f"{name} ({value.name!r}) must have one element to become an attribute; got {len(flat)}"
                )
            return Attribute(name, kind, flat[0])
        return Attribute(name, kind, tuple(flat))

    def refuse_parameter(self, name: str) -> NoReturn:
        """Refuses an attribute that is a parameter of the enclosing function, whose value calls decide."""
        self.refuse(f"attribute {name!r} is a parameter of the function; inline the function first")

    def refuse(self, why: str) -> NoReturn:
        """Raises ConversionError at this node."""
        raise self.refusal(why)

    def refusal(self, why: str) -> ConversionError:
        """The error that refuses this node."""
        return ConversionError(
            why,
            domain=self.node.domain,
            op_type=self.node.op_type,
            version=self.inference.version,
            target=self.target,
            location=location(self.origin),
        )


def keep(adapter: Adapter) -> AdaptedNode:
    """The facet of steps between equivalent versions: the node as it is.

    Whether such a step refuses a node depends on the element types of its operands and on its attributes only, so that
    nodes that are alike in them are converted once.
    """
    return adapter.same()


def referenced_parameter(value: Value) -> Attribute | None:
    """The function parameter that is the value of a Constant; None for any other value."""
    node = value.producer
    if node is None or node.op_type != "Constant" or node.domain:
        return None
    return next((a for a in node.attributes.values() if a.ref), None)
