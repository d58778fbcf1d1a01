"""The document being checked, with lazily computed facts about it as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from sardonyx._src.check.engine.body import Formals, Identity, formals_of_all, imports_of, key_of
from sardonyx._src.dataclass import dataclass
from sardonyx._src.io.external import Policy
from sardonyx._src.io.serde.from_proto import LATEST_IR_VERSION
from sardonyx._src.ops.api import OPERATORS
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.record import Record
from sardonyx._src.schema import vendor_names


@dataclass(frozen=True, slots=True)
class DataFileState:
    """The state of an external data file.

    size: in bytes.
    why: the reason why the file cannot be used; "" if it can.
    is_linked: whether it is reached by a link, unless the links have the layout of the Hugging Face cache.
    """

    size: int
    why: str = ""
    is_linked: bool = False


class ByteRange(NamedTuple):
    """The bytes of a file from `start` up to, not including, `end`."""

    start: int
    end: int


@dataclass
class Document:
    """A document with facts about it.

    path: its file, None if there is none.
    policy: the policy for external data.
    declared: domain and name of the operators in operator-set documents.
    functions, imports, ir_version: those of the model.
    files, byte_ranges, overlaps, checksums: results that `analysis/external_data.py` memoizes here, by file.
    comparisons: the remaining budget for comparing names, in pairs of characters.
    """

    record: Record
    path: Path | None = None
    policy: Policy = Policy.HUB
    declared: frozenset[tuple[str, str]] = frozenset()
    functions: Mapping[Identity, m.FunctionProto] = field(default_factory=dict)
    imports: Mapping[str, int] = field(default_factory=dict)
    ir_version: int = int(LATEST_IR_VERSION)
    files: dict[str, DataFileState] = field(default_factory=dict)
    byte_ranges: Mapping[str, Sequence[ByteRange]] | None = None
    overlaps: dict[str, Mapping[ByteRange, ByteRange]] = field(default_factory=dict)
    comparisons: int = 10_000_000
    checksums: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.record, m.ModelProto):
            self.ir_version = published_version(self.record.ir_version)
            self.imports = imports_of(self.record.opset_import)
            if not self.imports and self.ir_version < 3:
                self.imports = {"": 1}
        elif isinstance(self.record, m.OperatorSetProto):
            self.ir_version = published_version(self.record.ir_version)
        if isinstance(self.record, m.ModelProto | m.OperatorSetProto):
            self.functions = {key_of(f): f for f in reversed(self.record.functions)}

    @property
    def model(self) -> m.ModelProto | None:
        return self.record if isinstance(self.record, m.ModelProto) else None

    def declares(self, domain: str, op_type: str) -> bool:
        """Whether a local function, an operator-set document, a vendor or a registered operator has this name."""
        name = (domain, op_type)
        is_known = name in OPERATORS or op_type in vendor_names(domain)
        return is_known or name in self.overloads or name in self.declared

    @cached_property
    def overloads(self) -> Mapping[tuple[str, str], list[str]]:
        """The overloads of the functions of each domain and name."""
        result: dict[tuple[str, str], list[str]] = {}
        for domain, name, overload in self.functions:
            result.setdefault((domain, name), []).append(overload)
        return result

    @cached_property
    def formals(self) -> Mapping[Identity, Formals]:
        """The attributes that each function declares."""
        return formals_of_all(self.functions)

    @cached_property
    def state(self) -> Mapping[str, m.TensorProto | None]:
        """The initializers of the main graph; None for sparse ones."""
        return initializers(self.model.graph) if self.model is not None else {}

    @cached_property
    def bound_names(self) -> frozenset[str]:
        """The names that training bindings assign to."""
        steps = self.model.training_info if self.model is not None else ()
        return frozenset(b.key for s in steps for b in (*s.initialization_binding, *s.update_binding))

    @cached_property
    def outputs(self) -> Mapping[str, m.ValueInfoProto]:
        """The outputs of the main graph."""
        graph = self.model.graph if self.model is not None else None
        return {value.name: value for value in graph.output} if graph is not None else {}

    @cached_property
    def configurations(self) -> frozenset[str]:
        return frozenset(c.name for c in self.model.configuration) if self.model is not None else frozenset()


def published_version(ir_version: int) -> int:
    """The IR version itself, or the newest one if the version was never published."""
    return ir_version if 1 <= ir_version <= LATEST_IR_VERSION else int(LATEST_IR_VERSION)


def initializers(graph: m.GraphProto | None) -> dict[str, m.TensorProto | None]:
    """The initializers of a graph by name; None for sparse ones."""
    if graph is None:
        return {}
    result: dict[str, m.TensorProto | None] = {tensor.name: tensor for tensor in graph.initializer}
    sparse = [tensor.values.name for tensor in graph.sparse_initializer if tensor.values is not None]
    return result | dict.fromkeys(sparse)
