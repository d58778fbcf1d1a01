"""Fixes: what they are handed and what they answer, and how they are found."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TypeVar

from sardonyx._src.check.bodies import Body, initializer_names, input_names
from sardonyx._src.check.context import Context, Document, Trail
from sardonyx._src.check.engine import Walk
from sardonyx._src.check.reading import bodies_of
from sardonyx._src.ir.types import TensorType
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.record import Record

FOLDER = Path(__file__).parent / "fixes"
PACKAGE = f"{__name__.rpartition('.')[0]}.fixes"
TITLE = re.compile(r"([a-z0-9-]+): (.+)\Z")
STEP = re.compile(r"(\w+)\[(\d+)\]")
R = TypeVar("R", bound=Record)


@dataclass(frozen=True, slots=True)
class Mend:
    """What was mended: the rule that was broken, where (as the document was before), and what was done."""

    rule: str
    name: str
    location: str
    did: str

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        return f"{place}mended: {self.rule} {self.name}: {self.did}"


@dataclass
class Round:
    """One look at a document, and what its fixes share."""

    document: Document
    bodies: dict[int, Context] = field(default_factory=dict)
    reads: dict[int, frozenset[str]] = field(default_factory=dict)  # by id of a body: what is read in it
    outputs: dict[str, TensorType] | None = None  # types of the model's outputs, once they are inferred
    tables: dict[int, dict[Hashable, int]] = field(default_factory=dict)
    done: set[tuple[str, int]] = field(
        default_factory=set
    )  # what a fix has looked at: its word, id of a record

    @cached_property
    def names(self) -> set[str]:
        """Every name of a value, node, attribute or graph of the model."""
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
                taken.update(one.name for one in node.attribute)
        return taken

    @cached_property
    def counts(self) -> dict[str, int]:
        return {}

    def is_new(self, word: str, record: Record) -> bool:
        """Whether a fix has not said this word about this record before, so that it does work for many faults once."""
        key = (word, id(record))
        if key in self.done:
            return False
        self.done.add(key)
        return True

    def first(
        self, entries: list[object], wanted: Hashable, label: Callable[[object], Hashable]
    ) -> int | None:
        """The index of the first entry that has a label, as the list was when it was first asked about."""
        table = self.tables.get(id(entries))
        if table is None:
            table = self.tables[id(entries)] = {}
            for i, one in enumerate(entries):
                table.setdefault(label(one), i)
        return table.get(wanted)

    def fresh(self, wanted: str) -> str:
        """`wanted` where it is free, else with a number behind it; taken from now on."""
        name = wanted
        while name in self.names:
            self.counts[wanted] = self.counts.get(wanted, 0) + 1
            name = f"{wanted}_{self.counts[wanted]}"
        self.names.add(name)
        return name

    def context(self, trail: Trail) -> Context:
        """The context in which the engine asks about the record at the end of a trail."""
        known = self.bodies.get(id(trail.record))
        if known is not None:
            return known
        walk = Walk(self.document, {})
        if trail.around is None:
            return Context(self.document, walk.body(trail.record, None, trail), trail)
        around = self.context(trail.around)
        if not isinstance(trail.record, m.GraphProto | m.FunctionProto):
            return around
        found = self.bodies[id(trail.record)] = walk.entered(trail, around)
        return found


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault that a fix is to mend: `at` is a path from the record at the end of `trail`."""

    code: str
    trail: Trail
    at: str
    location: str
    round: Round

    @property
    def document(self) -> Document:
        return self.round.document

    @property
    def body(self) -> Body:
        """The body in which the faulty record stands, or that it is."""
        body = self.round.context(self.trail).body
        assert body is not None, f"{self.location} is in no body"
        return body

    def the(self, kind: type[R]) -> R:
        """The record that the rule was asked about."""
        assert isinstance(self.trail.record, kind), f"{self.code} is about {type(self.trail.record).__name__}"
        return self.trail.record

    def entry(self) -> tuple[list[object], int]:
        """The list that the last index in the path is of, and that index."""
        steps = list(self.steps(self.at))
        found = next((step for step in reversed(steps) if isinstance(step[0], list)), None)
        assert found is not None and isinstance(found[0], list), f"{self.at} leads to no entry of a list"
        return found[0], int(found[1])

    def record_at(self, path: str) -> Record:
        """The record that a path leads to."""
        found: object = self.trail.record
        for holder, step in self.steps(path):
            found = holder[int(step)] if isinstance(holder, list) else getattr(holder, str(step))
        assert isinstance(found, Record), f"{path} leads to no record"
        return found

    def steps(self, path: str) -> Iterator[tuple[object, str | int]]:
        """The holders on a path, each with the field or the index behind it."""
        holder: object = self.trail.record
        for part in path.split("."):
            match = STEP.fullmatch(part)
            yield holder, match[1] if match else part
            holder = getattr(holder, match[1] if match else part)
            if match is not None:
                assert isinstance(holder, list), f"{path} has an index into something that is no list"
                yield holder, int(match[2])
                holder = holder[int(match[2])]

    def around(self, kind: type[R]) -> R | None:
        """The nearest record of a class around the faulty one, or that one itself."""
        return next((t.record for t in self.trail.outwards() if isinstance(t.record, kind)), None)


Mending = Callable[[Fault], str]


@dataclass(frozen=True, slots=True)
class Fix:
    """A fix as its decorator states it; its name and title are those of its module."""

    codes: tuple[str, ...]
    mend: Mending
    module: str

    @property
    def title(self) -> str:
        """What the fix does, as the first line of its module says."""
        doc = inspect.cleandoc(importlib.import_module(self.module).__doc__ or "")
        found = TITLE.match(" ".join(doc.partition("\n\n")[0].split()))
        name = self.module.rpartition(".")[2].replace("_", "-")
        assert found is not None and found[1] == name, (
            f"{self.module} does not begin with `{name}: what it does`"
        )
        return found[2]


REGISTERED: list[Fix] = []


def fix(codes: str) -> Callable[[Mending], Mending]:
    """Registers a fix for the faults of the rules with these codes, separated by blanks.

    It is called for one fault at a time, the last of the document first, changes records in place, and says what it
    did; "" where it did nothing, because the fault cannot be mended without a guess.  It may rely on the places of
    the faults, whatever it has done about later ones.
    """

    def register(function: Mending) -> Mending:
        REGISTERED.append(Fix(tuple(codes.split()), function, function.__module__))
        return function

    return register


@cache
def fixes() -> tuple[Fix, ...]:
    """Every fix, in the order of its first code."""
    for module in pkgutil.iter_modules([str(FOLDER)]):
        importlib.import_module(f"{PACKAGE}.{module.name}")
    return tuple(sorted(REGISTERED, key=lambda one: one.codes))


@cache
def mendable() -> Mapping[str, Fix]:
    """The fix of each code that has one; an assertion names the files of two for one code."""
    result: dict[str, Fix] = {}
    for one in fixes():
        for code in one.codes:
            other = result.setdefault(code, one)
            assert other is one, f"{code} is mended by both {one.module} and {other.module}"
    return result
