"""Bodies: a graph's or function's nodes with the names that they make and see, and the operators that they mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from sardonyx._src.check.value_fields import kind_of
from sardonyx._src.proto import messages as m
from sardonyx._src.schema import OpSchema, canonical, domains, latest, lookup

Kind = Literal["main", "nested", "function", "initialization", "algorithm"]
Identity: TypeAlias = tuple[str, str, str]  # domain, name, overload


class Definition(NamedTuple):
    """Where a name is made: the field of the body, the position in it, and of a node the output."""

    field: str
    position: int
    slot: int = 0

    def __str__(self) -> str:
        return f"{self.field}[{self.position}]" + (f".output[{self.slot}]" if self.field == "node" else "")


@dataclass(slots=True)
class Body:
    """The nodes of one graph or function, with what one pass over them finds out.

    `outer` is the body whose values are visible here, up to its node number `holder`.  `writers` has node and output
    that make a name first, `rewritten` those that make it again; `unseen` has node, input and name of each reading of
    a name that no input, initializer or earlier node of this body makes; `operators` has the first node of each
    domain and operator; `holds_graphs` says whether attributes have some.
    `node_names` and `attribute_names` are there to be looked at all at once.
    """

    record: m.GraphProto | m.FunctionProto
    kind: Kind
    imports: Mapping[str, int]
    functions: Mapping[Identity, m.FunctionProto]
    outer: Body | None = None
    holder: int = 0
    function: m.FunctionProto | None = None
    inputs: dict[str, Definition] = field(default_factory=dict)
    initializers: dict[str, Definition] = field(default_factory=dict)
    writers: dict[str, tuple[int, int]] = field(default_factory=dict)
    rewritten: list[tuple[int, int]] = field(default_factory=list)
    unseen: list[tuple[int, int, str]] = field(default_factory=list)
    operators: dict[tuple[str, str], int] = field(default_factory=dict)
    holds_graphs: bool = False
    node_names: list[str] = field(default_factory=list)
    attribute_names: set[str] = field(default_factory=set)
    disordered: set[int] | None = None  # as `reading.is_disordered` has found them
    circles: list[list[int]] | None = None
    circle_of: dict[int, int] = field(default_factory=dict)
    ranks: dict[str, int | None] | None = None
    read: frozenset[str] | None = None  # as `liveness.read_in` has found them
    schemas: dict[tuple[str, str], OpSchema | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.outer is not None:
            self.schemas = self.outer.schemas
        for i, name in enumerate(input_names(self.record)):
            self.inputs.setdefault(name, Definition("input", i))
        if isinstance(self.record, m.GraphProto):
            for where, name in initializer_names(self.record):
                self.initializers.setdefault(name, where)
        self.read_nodes()

    def read_nodes(self) -> None:
        writers, operators = self.writers, self.operators
        known = {"", *self.inputs, *self.initializers}
        for i, node in enumerate(self.record.node):
            values = node.__dict__
            operators.setdefault((values.get("domain", ""), values.get("op_type", "")), i)
            if "name" in values:
                self.node_names.append(node.name)
            for one in values.get("attribute") or ():
                self.attribute_names.add(one.name)
                if "g" in one.__dict__ or "graphs" in one.__dict__:
                    self.holds_graphs = True
            for slot, name in enumerate(values.get("input") or ()):
                if name not in known:
                    self.unseen.append((i, slot, name))
            for slot, name in enumerate(values.get("output") or ()):
                if name in writers:
                    self.rewritten.append((i, slot))
                elif name:
                    writers[name] = (i, slot)
                    known.add(name)

    def written(self, name: str) -> Definition | None:
        """The first node output of this very body that has the name."""
        writer = self.writers.get(name)
        return Definition("node", *writer) if writer is not None else None

    def own(self, name: str) -> Definition | None:
        """Where this very body makes a name, whatever the order of its nodes."""
        return self.inputs.get(name) or self.initializers.get(name) or self.written(name)

    def sees(self, name: str, before: int) -> bool:
        """Whether node number `before` may read the name."""
        body: Body | None = self
        while body is not None:
            if name in body.inputs or name in body.initializers:
                return True
            writer = body.writers.get(name)
            if writer is not None and writer[0] < before:
                return True
            before = body.holder
            body = body.outer
        return False

    def later(self, name: str) -> tuple[Body, Definition] | None:
        """The node, here or around, that makes a name: of use where nothing earlier does."""
        body: Body | None = self
        while body is not None:
            writer = body.written(name)
            if writer is not None:
                return body, writer
            body = body.outer
        return None

    def names(self) -> Iterator[str]:
        """Every name that may be meant here, from near to far."""
        body: Body | None = self
        while body is not None:
            yield from body.inputs
            yield from body.initializers
            yield from body.writers
            body = body.outer

    def callee(self, node: m.NodeProto) -> m.FunctionProto | None:
        """The local function that a node calls."""
        if not self.functions:
            return None
        return self.functions.get((canonical(node.domain), node.op_type, node.overload))

    def schema(self, node: m.NodeProto) -> OpSchema | None:
        """The signature that a node binds to; None for a call of a function and for whatever is unknown."""
        if self.callee(node) is not None:
            return None
        key = (node.domain, node.op_type)
        if key not in self.schemas:
            domain = canonical(node.domain)
            version = self.imports.get(domain, 0)
            self.schemas[key] = lookup(domain, node.op_type, version) if version > 0 else None
        return self.schemas[key]


@dataclass(frozen=True, slots=True)
class Formals:
    """What a function declares: its attributes, the types of their defaults, and those that its operators require."""

    declared: frozenset[str]
    defaults: Mapping[str, int]
    required: Mapping[str, str]  # attribute without default -> the operator that requires it


def formals_of_all(functions: Mapping[Identity, m.FunctionProto]) -> dict[Identity, Formals]:
    """What each function declares; what a function hands on to one that requires it, it requires itself."""
    result: dict[Identity, Formals] = {}
    required: dict[Identity, dict[str, str]] = {}
    handed: dict[
        tuple[Identity, str], list[tuple[Identity, str]]
    ] = {}  # a callee's attribute -> the caller's
    for key, function in functions.items():
        plain = frozenset(function.attribute)
        defaults = {one.name: kind_of(one) for one in function.attribute_proto}
        required[key] = {}
        result[key] = Formals(plain | defaults.keys(), defaults, required[key])
        for node, one in references_in(function):
            callee = (canonical(node.domain), node.op_type, node.overload)
            if one.ref_attr_name not in plain:
                continue
            if callee in functions:
                handed.setdefault((callee, one.name), []).append((key, one.ref_attr_name))
            elif is_required(node, one.name, imports_of(function.opset_import)):
                required[key].setdefault(one.ref_attr_name, node.op_type)
    work = [(key, name) for key, names in required.items() for name in names]
    while work:
        callee, name = work.pop()
        for caller, own in handed.get((callee, name), ()):
            if own not in required[caller]:
                required[caller][own] = required[callee][name]
                work.append((caller, own))
    return result


def references_in(function: m.FunctionProto) -> Iterator[tuple[m.NodeProto, m.AttributeProto]]:
    """The attributes that refer to those of the function, each with its node, in subgraphs too."""
    stack: list[m.FunctionProto | m.GraphProto] = [function]
    while stack:
        for node in stack.pop().node:
            for one in node.__dict__.get("attribute") or ():
                if one.ref_attr_name:
                    yield node, one
                if one.g is not None:
                    stack.append(one.g)
                stack += one.graphs


def is_required(node: m.NodeProto, attribute: str, imports: Mapping[str, int]) -> bool:
    """Whether the operator of the standard that a node means cannot do without the attribute."""
    version = imports.get(canonical(node.domain), 0)
    schema = lookup(node.domain, node.op_type, version) if version > 0 else None
    formal = schema.attributes.get(attribute) if schema is not None else None
    return formal is not None and formal.required


def imports_of(records: Sequence[m.OperatorSetIdProto]) -> dict[str, int]:
    """Version by domain; of several imports of a domain the highest binds."""
    result: dict[str, int] = {}
    for one in records:
        domain = canonical(one.domain)
        result[domain] = max(one.version, result.get(domain, 0))
    return result


def is_known_version(domain: str, version: int) -> bool:
    """Whether ONNX defines this version of a domain that it defines at all."""
    domain = canonical(domain)
    return domain not in domains() or 1 <= version <= latest(domain)


def key_of(function: m.FunctionProto) -> Identity:
    return canonical(function.domain), function.name, function.overload


def input_names(record: m.GraphProto | m.FunctionProto) -> list[str]:
    return [v.name for v in record.input] if isinstance(record, m.GraphProto) else list(record.input)


def output_names(record: m.GraphProto | m.FunctionProto) -> list[str]:
    return [v.name for v in record.output] if isinstance(record, m.GraphProto) else list(record.output)


def initializer_names(graph: m.GraphProto) -> Iterator[tuple[Definition, str]]:
    """Dense and sparse initializers; a sparse one has its name in its values."""
    for i, tensor in enumerate(graph.initializer):
        yield Definition("initializer", i), tensor.name
    for i, sparse in enumerate(graph.sparse_initializer):
        yield Definition("sparse_initializer", i), sparse.values.name if sparse.values else ""
