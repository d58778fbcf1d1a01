"""The specialized programs of a model: its engines share them, and later processes find them in the disk cache."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable
from dataclasses import field
from threading import Lock
from typing import Protocol

from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.compile.program.steps.assumptions import Assumptions
from sardonyx._src.compile.program.steps.program import Program
from sardonyx._src.dataclass import dataclass
from sardonyx._src.runtime.programs.stats import RunCounters
from sardonyx._src.runtime.runs.native_program import NativeProgram
from sardonyx._src.runtime.specialization.fork_locks import LOCK_OWNERS
from sardonyx._src.runtime.specialization.program import Observed

MAX_PROGRAMS = 4  # specialized programs of a model


class ProgramSource(Protocol):
    """A specialized program that the engines of one model share, not loaded yet."""

    def open(self, threads: int | None, counters: RunCounters) -> NativeProgram | None:
        """The program ready to run; None if that is not possible."""
        ...


class ProgramStore(Protocol):
    """The stored specialized programs of a model, which later processes find."""

    def load(self, count: int) -> Iterable[tuple[Assumptions, ProgramSource]]:
        """At most `count` programs, the least recently used one first."""
        ...

    def reuse_weights(self, program: Program) -> None:
        """Replaces weights of a new program, not packed yet, by those that the general program has packed in the same way."""
        ...

    def put(self, assumptions: Assumptions, executable: Executable) -> ProgramSource | None:
        """Adds a program; None where that is not possible."""
        ...

    def retain(self, programs: Collection[Assumptions]) -> None:
        """Removes the programs for other assumptions than these."""
        ...


@dataclass(frozen=True, slots=True)
class CompiledSource:
    """A specialized program that this process compiled and does not store."""

    executable: Executable

    def open(self, threads: int | None, counters: RunCounters) -> NativeProgram:
        return NativeProgram(self.executable, threads, counters)


@dataclass(slots=True, weakref_slot=True, eq=False)
class Specializations:
    """The specialized programs of a model, shared by its engines.

    store: has the programs that earlier processes compiled, and receives new ones; None without a disk cache.
    programs: the programs by assumptions, the least recently used one first.
    version: a number that changes whenever `programs` does.
    compiled: the number of programs there ever were, stored ones included.
    counts: the number of runs with certain observations since the last program was added.
    is_loaded: whether the programs of the store were added.
    lock: guards all fields above.
    compiling: held while a program is compiled.
    """

    store: ProgramStore | None = None
    programs: OrderedDict[Assumptions, ProgramSource] = field(default_factory=OrderedDict)
    version: int = 0
    compiled: int = 0
    counts: dict[Observed, int] = field(default_factory=dict)
    is_loaded: bool = False
    lock: Lock = field(default_factory=Lock)
    compiling: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        LOCK_OWNERS.add(self)

    def renew_locks(self) -> None:
        self.lock, self.compiling = Lock(), Lock()

    def count_run(self, observed: Observed) -> bool:
        """Counts a run with these observations; returns whether there were enough to compile a program for them.

        One run is enough for each of the first MAX_PROGRAMS programs; each later program requires twice as many runs as
        the one before.
        """
        required = 1 << max(self.compiled - MAX_PROGRAMS + 1, 0)
        with self.lock:
            count = self.counts[observed] = self.counts.get(observed, 0) + 1
        return count >= required

    def load_stored(self) -> None:
        """Adds the programs that earlier processes compiled, at the first call."""
        if self.store is None or self.is_loaded:
            return
        with self.lock:
            if not self.is_loaded:
                self.is_loaded = True
                self.programs.update(self.store.load(MAX_PROGRAMS))
                self.compiled += len(self.programs)
                self.version += bool(self.programs)

    def put(self, assumptions: Assumptions, executable: Executable) -> None:
        """Adds a program, and drops the least recently used one if there are too many."""
        stored = None if self.store is None else self.store.put(assumptions, executable)
        with self.lock:
            self.programs[assumptions] = stored or CompiledSource(executable)
            self.compiled += 1
            self.version += 1
            self.counts.clear()
            while len(self.programs) > MAX_PROGRAMS:
                self.programs.popitem(last=False)
            retained = tuple(self.programs)
        if self.store is not None:
            self.store.retain(retained)

    def mark_used(self, assumptions: Assumptions) -> None:
        with self.lock:
            if assumptions in self.programs:
                self.programs.move_to_end(assumptions)
