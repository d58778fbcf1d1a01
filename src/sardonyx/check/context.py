"""What a rule may know besides the record it visits: the document, and the body in which the record stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TypeVar

from sardonyx.check.bodies import Body, Formals, Identity, formals_of, imports_of, key_of
from sardonyx.check.names import did_you_mean
from sardonyx.io.external import Policy
from sardonyx.ops.api import OPERATORS
from sardonyx.proto import messages as m
from sardonyx.proto.record import Field, Record
from sardonyx.schema import OpSchema

R = TypeVar("R", bound=Record)
NEWEST_IR = int(max(m.Version))


@dataclass(slots=True)  # not frozen, which takes twice as long to make
class Trail:
    """How a record was reached: the record around it, its field there and its index in a list."""

    record: Record
    around: Trail | None = None
    field: Field | None = None
    index: int = -1

    def outwards(self) -> Iterator[Trail]:
        """This one, then what is around it, up to the document."""
        trail: Trail | None = self
        while trail is not None:
            yield trail
            trail = trail.around


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of external data as it was found: its size in bytes, or why it cannot be used."""

    size: int
    why: str = ""
    is_linked: bool = False


@dataclass
class Document:
    """What is checked, as a whole; `path` is the file in which it stands, if any."""

    record: Record
    path: Path | None = None
    policy: Policy = Policy.HUB
    declared: frozenset[tuple[str, str]] = frozenset()  # (domain, operator) of operator-set documents
    functions: Mapping[Identity, m.FunctionProto] = field(default_factory=dict)
    imports: Mapping[str, int] = field(default_factory=dict)
    ir_version: int = NEWEST_IR
    files: dict[str, DataFile] = field(default_factory=dict)
    comparisons: int = (
        100_000  # of names that may still be made: a document of wrong names must not take for ever
    )

    def __post_init__(self) -> None:
        if isinstance(self.record, m.ModelProto):
            self.ir_version = self.record.ir_version or NEWEST_IR
            self.imports = imports_of(self.record.opset_import)
            if not self.imports and self.ir_version < 3:
                self.imports = {"": 1}
        elif isinstance(self.record, m.OperatorSetProto):
            self.ir_version = self.record.ir_version or NEWEST_IR
        if isinstance(self.record, m.ModelProto | m.OperatorSetProto):
            self.functions = {key_of(f): f for f in reversed(self.record.functions)}

    @property
    def model(self) -> m.ModelProto | None:
        return self.record if isinstance(self.record, m.ModelProto) else None

    def declares(self, domain: str, op_type: str) -> bool:
        """Whether a local function, an operator-set document or a registered operator has this name."""
        name = (domain, op_type)
        return name in self.overloads or name in self.declared or name in OPERATORS

    @cached_property
    def overloads(self) -> Mapping[tuple[str, str], list[str]]:
        """The overloads of the functions of each domain and name."""
        result: dict[tuple[str, str], list[str]] = {}
        for domain, name, overload in self.functions:
            result.setdefault((domain, name), []).append(overload)
        return result

    @cached_property
    def formals(self) -> Mapping[Identity, Formals]:
        """What each function declares."""
        return {key: formals_of(function) for key, function in self.functions.items()}

    @cached_property
    def state(self) -> Mapping[str, m.TensorProto | None]:
        """The initializers of the main graph; None for sparse ones."""
        return initializers(self.model.graph) if self.model is not None else {}

    @cached_property
    def outputs(self) -> Mapping[str, m.ValueInfoProto]:
        """The outputs of the main graph."""
        graph = self.model.graph if self.model is not None else None
        return {value.name: value for value in graph.output} if graph is not None else {}

    @cached_property
    def configurations(self) -> frozenset[str]:
        return frozenset(c.name for c in self.model.configuration) if self.model is not None else frozenset()


def initializers(graph: m.GraphProto | None) -> dict[str, m.TensorProto | None]:
    """The initializers of a graph by name; None for sparse ones."""
    if graph is None:
        return {}
    result: dict[str, m.TensorProto | None] = {tensor.name: tensor for tensor in graph.initializer}
    return result | {one.values.name: None for one in graph.sparse_initializer if one.values is not None}


@dataclass(slots=True)
class Context:
    """The surroundings of the records of one body.

    `trail` is that of the record being visited; `schema` and `callee` say what it means if it is a node: the operator
    of the standard, or the local function, or neither.
    """

    document: Document
    body: Body | None
    trail: Trail
    schema: OpSchema | None = None
    callee: m.FunctionProto | None = None

    def visit(self, trail: Trail) -> None:
        """Moves on to another record."""
        self.trail = trail
        if isinstance(trail.record, m.NodeProto) and self.body is not None:
            self.schema = self.body.schema(trail.record)
            self.callee = self.body.callee(trail.record)

    @property
    def ir_version(self) -> int:
        return self.document.ir_version

    @property
    def is_root(self) -> bool:
        """Whether the visited record is the document itself."""
        return self.trail.around is None

    def near(self, name: str, known: Iterable[str]) -> str:
        """ "; did you mean 'x'?" where a known name is close, else nothing."""
        if len(name) > 100 or self.document.comparisons <= 0:
            return ""
        few = list(dict.fromkeys(islice(known, 1000)))
        self.document.comparisons -= len(few)
        return did_you_mean(name, few)

    def around(self, message: type[R]) -> R | None:
        """The nearest record of a class around the visited one."""
        for trail in self.trail.outwards():
            if trail is not self.trail and isinstance(trail.record, message):
                return trail.record
        return None

    @property
    def parent(self) -> Record | None:
        return self.trail.around.record if self.trail.around else None

    @property
    def parent_field(self) -> str:
        """The name of the field of `parent` in which the visited record stands."""
        return self.trail.field.name if self.trail.field else ""
