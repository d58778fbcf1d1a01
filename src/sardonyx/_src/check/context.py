"""What a rule may know besides the record it visits: the document, and the body in which the record stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from sardonyx._src.check.bodies import Body, Formals, Identity, formals_of_all, imports_of, key_of
from sardonyx._src.check.names import did_you_mean
from sardonyx._src.io.external import Policy
from sardonyx._src.ops.api import OPERATORS
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.record import Field, Record
from sardonyx._src.schema import OpSchema

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


class Region(NamedTuple):
    """A part of a file, in bytes, that tensors take; `end` is behind it."""

    start: int
    end: int


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
    regions: Mapping[str, Sequence[Region]] | None = None  # by file, as `regions.regions_of` has found them
    comparisons: int = 10_000_000  # of signs in names: a document of wrong names must not take for ever
    checksums: dict[str, str] = field(default_factory=dict)  # of files, as far as they were asked for

    def __post_init__(self) -> None:
        if isinstance(self.record, m.ModelProto):
            self.ir_version = published(self.record.ir_version)
            self.imports = imports_of(self.record.opset_import)
            if not self.imports and self.ir_version < 3:
                self.imports = {"": 1}
        elif isinstance(self.record, m.OperatorSetProto):
            self.ir_version = published(self.record.ir_version)
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
        return formals_of_all(self.functions)

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


def published(ir_version: int) -> int:
    """The version itself; the newest for one that was never published."""
    return ir_version if 1 <= ir_version <= NEWEST_IR else NEWEST_IR


def initializers(graph: m.GraphProto | None) -> dict[str, m.TensorProto | None]:
    """The initializers of a graph by name; None for sparse ones."""
    if graph is None:
        return {}
    result: dict[str, m.TensorProto | None] = {tensor.name: tensor for tensor in graph.initializer}
    return result | {one.values.name: None for one in graph.sparse_initializer if one.values is not None}


@dataclass(slots=True)
class Context:
    """The surroundings of the records of one body.

    `trail` is that of the record being visited.  A body and those nested in it have one `scope`, as names of
    operators and references to attributes mean the same in them.
    """

    document: Document
    body: Body | None
    trail: Trail
    scope: int = 0

    @property
    def schema(self) -> OpSchema | None:
        """The signature of the operator of the standard that the visited node means."""
        node = self.trail.record
        return self.body.schema(node) if isinstance(node, m.NodeProto) and self.body is not None else None

    @property
    def callee(self) -> m.FunctionProto | None:
        """The local function that the visited node calls."""
        node = self.trail.record
        return self.body.callee(node) if isinstance(node, m.NodeProto) and self.body is not None else None

    @property
    def ir_version(self) -> int:
        return self.document.ir_version

    @property
    def is_root(self) -> bool:
        """Whether the visited record is the document itself."""
        return self.trail.around is None

    def near(self, name: str, known: Iterable[str]) -> str:
        """ "; did you mean 'x'?" where a known name is close, else nothing."""
        if self.document.comparisons <= 0:
            return ""
        few = [one for one in dict.fromkeys(islice(known, 1000)) if len(one) < 2 * len(name) + 2 < 200]
        self.document.comparisons -= len(few) * len(name) ** 2
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
