"""What a rule may know besides the record it visits: the document, and the body in which the record stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from sardonyx.check.bodies import Body, Identity, imports_of, key_of
from sardonyx.io.external import Policy
from sardonyx.ops.api import OPERATORS
from sardonyx.proto import messages as m
from sardonyx.proto.record import Field, Record

R = TypeVar("R", bound=Record)
NEWEST_IR = int(max(m.Version))


@dataclass(frozen=True, slots=True)
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


@dataclass(slots=True)
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
        if any((domain, op_type) == key[:2] for key in self.functions):
            return True
        return (domain, op_type) in self.declared or (domain, op_type) in OPERATORS


@dataclass(slots=True)
class Context:
    """The surroundings of the records of one body; `trail` is that of the record being visited."""

    document: Document
    body: Body | None
    trail: Trail

    @property
    def ir_version(self) -> int:
        return self.document.ir_version

    @property
    def is_root(self) -> bool:
        """Whether the visited record is the document itself."""
        return self.trail.around is None

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
