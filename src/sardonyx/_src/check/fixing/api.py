"""The interface of fixes: the `fix` decorator, the violations that fixes receive, and discovery."""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import field
from functools import cache, cached_property
from typing import TypeVar

from sardonyx._src.check import fixes as fixes_package
from sardonyx._src.check.analysis.reads import bodies_of
from sardonyx._src.check.engine.body import BodyScope, initializer_names, input_names
from sardonyx._src.check.engine.context import RecordPath, RuleContext
from sardonyx._src.check.engine.document import Document
from sardonyx._src.check.engine.walk import Walk
from sardonyx._src.dataclass import dataclass
from sardonyx._src.docpages import load_page
from sardonyx._src.ir import TensorType
from sardonyx._src.ir.names import FreshNames
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.record import Record

FIX_TITLE = re.compile(r"([a-z0-9-]+): (.+)\Z")
INDEXED_PART = re.compile(r"(\w+)\[(\d+)\]")
RecordT = TypeVar("RecordT", bound=Record)


@dataclass(frozen=True, slots=True)
class AppliedFix:
    """An applied fix: the violated rule, the location in the document before the fix, and what was done."""

    rule: str
    name: str
    location: str
    did: str

    def __str__(self) -> str:
        prefix = f"{self.location}: " if self.location else ""
        return f"{prefix}fixed: {self.rule} {self.name}: {self.did}"


@dataclass
class FixPass:
    """One pass of a fix over a document, with state that the calls of the fix share.

    bodies: the contexts of bodies, by the id of the body's record.
    reads: the names read in a body, by the id of the body's record.
    outputs: the inferred types of the model's outputs.
    tables: the indices of entries by label, by the id of their list.
    seen: the topics and ids of records for which the fix was called.
    """

    document: Document
    bodies: dict[int, RuleContext] = field(default_factory=dict)
    reads: dict[int, frozenset[str]] = field(default_factory=dict)
    outputs: dict[str, TensorType] | None = None
    tables: dict[int, dict[Hashable, int]] = field(default_factory=dict)
    seen: set[tuple[str, int]] = field(default_factory=set)

    @cached_property
    def names(self) -> FreshNames:
        """A source of unused names; the names of values, nodes, attributes and graphs of the model are in use."""
        record, taken = self.document.record, {""}
        for _, body in bodies_of(record) if isinstance(record, m.ModelProto) else ():
            taken.add(body.name)
            taken.update(input_names(body))
            if isinstance(body, m.GraphProto):
                taken.update(name for _, name in initializer_names(body))
                taken.update(value.name for value in body.output)
            for node in body.node:
                taken.add(node.name)
                taken.update(node.output)
                taken.update(attribute.name for attribute in node.attribute)
        return FreshNames(taken)

    def is_new(self, topic: str, record: Record) -> bool:
        """Whether this is the first call for a topic and record: a fix that handles many violations at once then does so."""
        key = (topic, id(record))
        if key in self.seen:
            return False
        self.seen.add(key)
        return True

    def first(
        self, entries: list[object], label: Hashable, label_of: Callable[[object], Hashable]
    ) -> int | None:
        """The index of the first entry with a label, in the list as it was at the first call."""
        table = self.tables.get(id(entries))
        if table is None:
            table = self.tables[id(entries)] = {}
            for i, entry in enumerate(entries):
                table.setdefault(label_of(entry), i)
        return table.get(label)

    def fresh(self, base: str) -> str:
        """`base` if that name is unused, else `base` with a number appended; the name is in use from then on."""
        return self.names.fresh(base)

    def context(self, record_path: RecordPath) -> RuleContext:
        """The context in which the engine runs the rules on the record at the end of a path."""
        known = self.bodies.get(id(record_path.record))
        if known is not None:
            return known
        walk = Walk(self.document, {})
        if record_path.parent is None:
            return RuleContext(self.document, walk.body(record_path.record, None, record_path), record_path)
        outer = self.context(record_path.parent)
        if not isinstance(record_path.record, m.GraphProto | m.FunctionProto):
            return outer
        context = self.bodies[id(record_path.record)] = walk.enter_body(record_path, outer)
        return context


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation to be fixed: `path` leads to it from the record at the end of `record_path`."""

    code: str
    record_path: RecordPath
    path: str
    location: str
    fix_pass: FixPass

    @property
    def document(self) -> Document:
        return self.fix_pass.document

    @property
    def body(self) -> BodyScope:
        """The body that contains the visited record, or the record itself if it is a body."""
        body = self.fix_pass.context(self.record_path).body
        assert body is not None, f"{self.location} is in no body"
        return body

    def visited_record(self, record_class: type[RecordT]) -> RecordT:
        """The record that the rule visited, which must be of the given class."""
        record = self.record_path.record
        assert isinstance(record, record_class), f"{self.code} visits {type(record).__name__}"
        return record

    def entry(self) -> tuple[list[object], int]:
        """The list that the last index in the path refers to, and that index."""
        steps = list(self.steps(self.path))
        step = next((step for step in reversed(steps) if isinstance(step[0], list)), None)
        assert step is not None and isinstance(step[0], list), f"{self.path} leads to no entry of a list"
        return step[0], int(step[1])

    def record_at(self, path: str) -> Record:
        """The record that a path leads to."""
        target: object = self.record_path.record
        for holder, step in self.steps(path):
            target = holder[int(step)] if isinstance(holder, list) else getattr(holder, str(step))
        assert isinstance(target, Record), f"{path} leads to no record"
        return target

    def steps(self, path: str) -> Iterator[tuple[object, str | int]]:
        """The records and lists along a path, each with the field or index that follows."""
        holder: object = self.record_path.record
        for part in path.split("."):
            match = INDEXED_PART.fullmatch(part)
            yield holder, match[1] if match else part
            holder = getattr(holder, match[1] if match else part)
            if match is not None:
                assert isinstance(holder, list), f"{path} indexes something that is not a list"
                yield holder, int(match[2])
                holder = holder[int(match[2])]

    def enclosing(self, record_class: type[RecordT]) -> RecordT | None:
        """The nearest record of a class among the visited record and those that enclose it."""
        return next(
            (p.record for p in self.record_path.ancestors() if isinstance(p.record, record_class)), None
        )


FixFunction = Callable[[Violation], str]


@dataclass(frozen=True, slots=True)
class Fix:
    """A registered fix; its name and title are those of its module."""

    codes: tuple[str, ...]
    apply: FixFunction
    module: str

    @property
    def title(self) -> str:
        """The effect of the fix, from the first line of its module's docstring."""
        match = load_page(self.module, FIX_TITLE).title
        name = self.module.rpartition(".")[2].replace("_", "-")
        assert match[1] == name, f"the docstring of {self.module} must begin with {name}; got {match[1]}"
        return match[2]


REGISTERED_FIXES: list[Fix] = []


def fix(codes: str) -> Callable[[FixFunction], FixFunction]:
    """Registers a fix for violations of the rules with these codes, separated by blanks.

    The fix is called for one violation at a time, the last one of the document first; it changes records in place and
    returns a description of the change, or "" if it changed nothing because the violation cannot be fixed without a guess.
    Changes for one violation must keep the paths of earlier violations valid.
    """

    def register(function: FixFunction) -> FixFunction:
        REGISTERED_FIXES.append(Fix(tuple(codes.split()), function, function.__module__))
        return function

    return register


@cache
def fixes() -> tuple[Fix, ...]:
    """Every fix in `check/fixes`, in the order of its first code."""
    for module in pkgutil.walk_packages(fixes_package.__path__, f"{fixes_package.__name__}."):
        importlib.import_module(module.name)
    return tuple(sorted(REGISTERED_FIXES, key=lambda registered: registered.codes))


@cache
def fixes_by_code() -> Mapping[str, Fix]:
    """The fix of each code that has one; asserts that no code has two."""
    result: dict[str, Fix] = {}
    for registered in fixes():
        for code in registered.codes:
            other = result.setdefault(code, registered)
            assert other is registered, f"{code} is fixed by both {registered.module} and {other.module}"
    return result
