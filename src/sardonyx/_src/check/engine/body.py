"""Name scopes of graphs and functions: definitions, reads, and the operators that nodes refer to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Literal, NamedTuple, TypeAlias

from sardonyx._src.check.records.attribute_fields import attribute_type_of
from sardonyx._src.dataclass import dataclass
from sardonyx._src.ops.registry import registered_signature
from sardonyx._src.proto import messages as m
from sardonyx._src.schema import OpSchema, canonical, domains, lookup, newest

BodyKind = Literal["main", "nested", "function", "initialization", "algorithm"]
Identity: TypeAlias = tuple[str, str, str]  # domain, name, overload


class Definition(NamedTuple):
    """The definition of a name: the field of the body, the index in the field, and the output of a node."""

    field: str
    position: int
    slot: int = 0

    def __str__(self) -> str:
        return f"{self.field}[{self.position}]" + (f".output[{self.slot}]" if self.field == "node" else "")


@dataclass(slots=True)
class BodyScope:
    """The names of one graph or function, a body, collected in one pass over its nodes.  Nodes are given by index.

    imports: the imported version of each domain.
    functions: the functions of the document.
    outer, outer_node: the body whose values are visible here, namely those defined before its node `outer_node`.
    function: the function to which the body belongs, None outside of functions.
    inputs, initializers: the definition of each input and initializer, by name.
    producers: the node and output that define a name first; redefinitions: nodes and outputs that define a name again.
    unresolved_reads: node, input and name of each read that no input, initializer or earlier node of this body defines.
    reads: the names of the inputs of all nodes, in order.
    operators: the first node of each domain and operator.
    holds_graphs: whether an attribute of a node holds a graph.
    early_reads, cycles, cycle_of, ranks, read: results that `check/analysis` memoizes here.
    schemas: the schemas so far, by domain and operator; shared with nested bodies.
    """

    record: m.GraphProto | m.FunctionProto
    kind: BodyKind
    imports: Mapping[str, int]
    functions: Mapping[Identity, m.FunctionProto]
    outer: BodyScope | None = None
    outer_node: int = 0
    function: m.FunctionProto | None = None
    inputs: dict[str, Definition] = field(default_factory=dict)
    initializers: dict[str, Definition] = field(default_factory=dict)
    producers: dict[str, tuple[int, int]] = field(default_factory=dict)
    redefinitions: list[tuple[int, int]] = field(default_factory=list)
    unresolved_reads: list[tuple[int, int, str]] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    operators: dict[tuple[str, str], int] = field(default_factory=dict)
    holds_graphs: bool = False
    node_names: list[str] = field(default_factory=list)
    attribute_names: set[str] = field(default_factory=set)
    early_reads: set[int] | None = None
    cycles: list[list[int]] | None = None
    cycle_of: dict[int, int] = field(default_factory=dict)
    ranks: dict[str, int | None] | None = None
    read: frozenset[str] | None = None
    schemas: dict[tuple[str, str], OpSchema | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.outer is not None:
            self.schemas = self.outer.schemas
        for i, name in enumerate(input_names(self.record)):
            self.inputs.setdefault(name, Definition("input", i))
        if isinstance(self.record, m.GraphProto):
            for where, name in initializer_names(self.record):
                self.initializers.setdefault(name, where)
        self.collect_names()

    def collect_names(self) -> None:
        producers, operators, reads = self.producers, self.operators, self.reads
        known = {"", *self.inputs, *self.initializers}
        all_known, define = known.issuperset, known.add
        for i, node in enumerate(self.record.node):
            values = node.__dict__
            operator = values.get("domain", ""), values.get("op_type", "")
            if operator not in operators:
                operators[operator] = i
            if "name" in values:
                self.node_names.append(values["name"])
            if "attribute" in values:
                self.collect_attributes(node)
            if inputs := values.get("input"):
                reads += inputs
                if not all_known(inputs):
                    self.unresolved_reads += [
                        (i, k, name) for k, name in enumerate(inputs) if name not in known
                    ]
            slot = 0
            for name in values.get("output") or ():
                if name in producers:
                    self.redefinitions.append((i, slot))
                elif name:
                    producers[name] = (i, slot)
                    define(name)
                slot += 1

    def collect_attributes(self, node: m.NodeProto) -> None:
        for attribute in node.attribute or ():
            values = attribute.__dict__
            self.attribute_names.add(values.get("name", ""))
            if "g" in values or "graphs" in values:
                self.holds_graphs = True

    def node_output(self, name: str) -> Definition | None:
        """The first node output of this body that has the name."""
        producer = self.producers.get(name)
        return Definition("node", *producer) if producer is not None else None

    def definition(self, name: str) -> Definition | None:
        """The definition of a name in this body, regardless of the order of its nodes."""
        return self.inputs.get(name) or self.initializers.get(name) or self.node_output(name)

    def is_visible(self, name: str, before: int) -> bool:
        """Whether the node with index `before` may read the name."""
        body: BodyScope | None = self
        while body is not None:
            if name in body.inputs or name in body.initializers:
                return True
            producer = body.producers.get(name)
            if producer is not None and producer[0] < before:
                return True
            before = body.outer_node
            body = body.outer
        return False

    def later_definition(self, name: str) -> tuple[BodyScope, Definition] | None:
        """The node output, here or in an outer body, that defines a name which is not visible yet."""
        body: BodyScope | None = self
        while body is not None:
            output = body.node_output(name)
            if output is not None:
                return body, output
            body = body.outer
        return None

    def known_names(self) -> Iterator[str]:
        """Every name of this body and the outer ones, innermost first."""
        body: BodyScope | None = self
        while body is not None:
            yield from body.inputs
            yield from body.initializers
            yield from body.producers
            body = body.outer

    def callee(self, node: m.NodeProto) -> m.FunctionProto | None:
        """The local function that a node calls."""
        if not self.functions:
            return None
        return self.functions.get((canonical(node.domain), node.op_type, node.overload))

    def schema(self, node: m.NodeProto) -> OpSchema | None:
        """The schema that a node binds to; None for calls of functions and unknown operators."""
        if self.callee(node) is not None:
            return None
        key = (node.domain, node.op_type)
        if key not in self.schemas:
            self.schemas[key] = schema_under(node, self.imports)
        return self.schemas[key]


def schema_under(node: m.NodeProto, imports: Mapping[str, int]) -> OpSchema | None:
    """The schema that a node binds to under these imports: the specification's, or that of a registered operator."""
    domain = canonical(node.domain)
    version = imports.get(domain, 0)
    if version < 1:
        return None
    return lookup(domain, node.op_type, version) or registered_signature(domain, node.op_type, version)


@dataclass(frozen=True, slots=True)
class Formals:
    """The attributes that a function declares.

    defaults: the types of the attributes with defaults.
    required: the attributes without default that an operator in the body requires, each with the operator.
    """

    declared: frozenset[str]
    defaults: Mapping[str, int]
    required: Mapping[str, str]


def formals_of_all(functions: Mapping[Identity, m.FunctionProto]) -> dict[Identity, Formals]:
    """The attributes that each function declares; an attribute that is passed to a function that requires it is required."""
    result: dict[Identity, Formals] = {}
    required: dict[Identity, dict[str, str]] = {}
    # For each attribute of a callee, the attributes of callers that are passed to it.
    passed: dict[tuple[Identity, str], list[tuple[Identity, str]]] = {}
    for key, function in functions.items():
        plain = frozenset(function.attribute)
        defaults = {a.name: attribute_type_of(a) for a in function.attribute_proto}
        required[key] = {}
        result[key] = Formals(plain | defaults.keys(), defaults, required[key])
        for node, attribute in references_in(function):
            callee = (canonical(node.domain), node.op_type, node.overload)
            if attribute.ref_attr_name not in plain:
                continue
            if callee in functions:
                passed.setdefault((callee, attribute.name), []).append((key, attribute.ref_attr_name))
            elif is_required(node, attribute.name, imports_of(function.opset_import)):
                required[key].setdefault(attribute.ref_attr_name, node.op_type)
    work = [(key, name) for key, names in required.items() for name in names]
    while work:
        callee, name = work.pop()
        for caller, own in passed.get((callee, name), ()):
            if own not in required[caller]:
                required[caller][own] = required[callee][name]
                work.append((caller, own))
    return result


def references_in(function: m.FunctionProto) -> Iterator[tuple[m.NodeProto, m.AttributeProto]]:
    """The attributes that refer to those of the function, each with its node, including subgraphs."""
    stack: list[m.FunctionProto | m.GraphProto] = [function]
    while stack:
        for node in stack.pop().node:
            for attribute in node.__dict__.get("attribute") or ():
                if attribute.ref_attr_name:
                    yield node, attribute
                if attribute.g is not None:
                    stack.append(attribute.g)
                stack += attribute.graphs


def is_required(node: m.NodeProto, attribute: str, imports: Mapping[str, int]) -> bool:
    """Whether the operator that a node refers to requires the attribute."""
    schema = schema_under(node, imports)
    formal = schema.attributes.get(attribute) if schema is not None else None
    return formal is not None and formal.required


def imports_of(records: Sequence[m.OperatorSetIdProto]) -> dict[str, int]:
    """The imported version of each domain; of several imports of a domain, the highest version applies."""
    result: dict[str, int] = {}
    for opset in records:
        domain = canonical(opset.domain)
        result[domain] = max(opset.version, result.get(domain, 0))
    return result


def is_known_version(domain: str, version: int) -> bool:
    """Whether the version of a domain exists; True for domains that ONNX does not define."""
    domain = canonical(domain)
    return domain not in domains() or 1 <= version <= newest(domain)


def key_of(function: m.FunctionProto) -> Identity:
    return canonical(function.domain), function.name, function.overload


def input_names(record: m.GraphProto | m.FunctionProto) -> list[str]:
    return [v.name for v in record.input] if isinstance(record, m.GraphProto) else list(record.input)


def output_names(record: m.GraphProto | m.FunctionProto) -> list[str]:
    return [v.name for v in record.output] if isinstance(record, m.GraphProto) else list(record.output)


def initializer_names(graph: m.GraphProto) -> Iterator[tuple[Definition, str]]:
    """Dense and sparse initializers; the name of a sparse one is that of its values."""
    for i, tensor in enumerate(graph.initializer):
        yield Definition("initializer", i), tensor.name
    for i, sparse in enumerate(graph.sparse_initializer):
        yield Definition("sparse_initializer", i), sparse.values.name if sparse.values else ""
