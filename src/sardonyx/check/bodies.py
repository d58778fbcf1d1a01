"""Bodies: a graph's or function's nodes with the names that they make and see, and the operators that they mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from sardonyx.check.value_fields import kind_of
from sardonyx.proto import messages as m
from sardonyx.schema import OpSchema, canonical, domains, latest, lookup

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
    """The nodes of one graph or function.

    `outer` is the body whose values are visible here, up to its node number `holder`.
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
    writers: dict[str, Definition] = field(default_factory=dict)
    circles: list[list[int]] | None = None
    circle_of: dict[int, int] = field(default_factory=dict)
    ranks: dict[str, int | None] | None = None
    schemas: dict[tuple[str, str], OpSchema | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.outer is not None:
            self.schemas = self.outer.schemas
        for i, name in enumerate(input_names(self.record)):
            self.inputs.setdefault(name, Definition("input", i))
        if isinstance(self.record, m.GraphProto):
            for where, name in initializer_names(self.record):
                self.initializers.setdefault(name, where)
        writers = self.writers
        for i, node in enumerate(self.record.node):
            for slot, name in enumerate(node.__dict__.get("output") or ()):
                if name and name not in writers:
                    writers[name] = Definition("node", i, slot)

    def own(self, name: str) -> Definition | None:
        """Where this very body makes a name, whatever the order of its nodes."""
        return self.inputs.get(name) or self.initializers.get(name) or self.writers.get(name)

    def sees(self, name: str, before: int) -> bool:
        """Whether node number `before` may read the name."""
        if name in self.inputs or name in self.initializers:
            return True
        writer = self.writers.get(name)
        if writer is not None and writer.position < before:
            return True
        return self.outer is not None and self.outer.sees(name, self.holder)

    def later(self, name: str) -> tuple[Body, Definition] | None:
        """The node, here or around, that makes a name: of use where nothing earlier does."""
        writer = self.writers.get(name)
        if writer is not None:
            return self, writer
        return self.outer.later(name) if self.outer is not None else None

    def names(self) -> Iterator[str]:
        """Every name that may be meant here, from near to far."""
        yield from (*self.inputs, *self.initializers, *self.writers)
        if self.outer is not None:
            yield from self.outer.names()

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


def formals_of(function: m.FunctionProto) -> Formals:
    imports = imports_of(function.opset_import)
    required: dict[str, str] = {}
    for node in function.node:
        references = [one for one in node.__dict__.get("attribute") or () if one.ref_attr_name]
        version = imports.get(canonical(node.domain), 0) if references else 0
        schema = lookup(node.domain, node.op_type, version) if version > 0 else None
        if schema is None:
            continue
        for one in references:
            formal = schema.attributes.get(one.name)
            if formal is not None and formal.required:
                required.setdefault(one.ref_attr_name, node.op_type)
    plain = frozenset(function.attribute)
    return Formals(
        plain | {one.name for one in function.attribute_proto},
        {one.name: kind_of(one) for one in function.attribute_proto},
        {name: op_type for name, op_type in required.items() if name in plain},
    )


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
