"""Specialisation: programs of a session that are compiled for the branches and ranks of its runs, or for what they feed.

A program with fallback operations of which inference cannot tell the rank records what its runs tell
(`compile.program.assumptions`).  The next run compiles a program for it, the second run is native; the conditions that it
assumes are guards, and so are the ranks.  A run tries the programs that exist, the one used last first, and then the general
one, whose observations lead to another program.

A program whose fallback operations read fed parameters, such as axes, is compiled for their elements in the first run that feeds
them; a model of which runs tell ranks has programs for ranks instead, which serve all elements.

Programs are few: engines of one model share them, the least recently used one is dropped, and a model whose assumptions keep
changing is compiled ever more rarely.  Those of a file are in the disk cache, so that a later process is native from its first
run on.
"""

from __future__ import annotations

import logging
import os
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from threading import Lock, local
from typing import Protocol

import numpy as np

from sardonyx._src.compile.program.assumptions import (
    Assumptions,
    BranchTaken,
    elements_of,
    format_assumptions,
)
from sardonyx._src.compile.program.defects import typed_defects
from sardonyx._src.compile.program.executable import Executable
from sardonyx._src.compile.program.live_objects import LiveObjects
from sardonyx._src.errors import CompilationError, EvaluationError, SardonyxError
from sardonyx._src.interp.run_control import RunControl
from sardonyx._src.interp.run_state import RandomSource
from sardonyx._src.ops.api import RunLimits, RuntimeValue
from sardonyx._src.runtime.async_compilation import async_compilation
from sardonyx._src.runtime.native_program import NativeProgram
from sardonyx._src.runtime.output_arrays import OutputArrays
from sardonyx._src.runtime.run_limits import Bailout
from sardonyx._src.runtime.specialized_program import Observed, SpecializedProgram, observe_elements
from sardonyx._src.runtime.stats import RunCounters

MAX_PROGRAMS = 4  # specialised programs of a model
MAX_ELEMENTS = 2  # of these, for elements of parameters: each is compiled in the first run with them
MAX_ROUNDS = 8  # of observations: the branches inside a branch are observed when that one was inlined
log = logging.getLogger(__name__)
Compiler = Callable[[Assumptions], Executable]


class ProgramSource(Protocol):
    """A specialised program that engines of one model share."""

    def open(self, threads: int | None, counters: RunCounters) -> NativeProgram | None:
        """The program ready to run; None if that is not possible."""
        ...


class ProgramStore(Protocol):
    """The specialised programs of a model that later processes have, too."""

    def load(self, count: int) -> Iterable[tuple[Assumptions, ProgramSource]]:
        """At most `count` programs, the least recently used one first."""
        ...

    def put(self, assumptions: Assumptions, executable: Executable) -> ProgramSource | None:
        """Adds a program; None where that is not possible."""
        ...

    def retain(self, programs: Collection[Assumptions]) -> None:
        """Removes the programs for other assumptions than these."""
        ...


@dataclass(frozen=True, slots=True)
class CompiledSource:
    """A specialised program that this process compiled and does not store."""

    executable: Executable

    def open(self, threads: int | None, counters: RunCounters) -> NativeProgram:
        return NativeProgram(self.executable, threads, counters)


class LockOwner(Protocol):
    """What has locks of its own."""

    def renew_locks(self) -> None:
        """Replaces the locks: in a forked child, where another thread of the parent may have held them."""
        ...


LOCK_OWNERS: LiveObjects[LockOwner] = LiveObjects()


@dataclass(slots=True, weakref_slot=True, eq=False)
class Specializations:
    """The specialised programs of a model, shared by its engines.

    store: has the programs that earlier processes compiled, and receives further ones; None without a cache.
    programs: least recently used first.  version: changes with them.  compiled: how many there ever were, stored ones
    included.  counts: of runs since then, by what they observed.  is_loaded: whether those of the store are among them.
    lock: of these; compiling: held while a program is compiled.
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

    def is_due(self, observed: Observed) -> bool:
        """Counts a run with these observations; whether a program is to be compiled for them.

        The first programs are compiled at once; each further one takes twice as many runs as the one before.
        """
        required = 1 << max(self.compiled - MAX_PROGRAMS + 1, 0)
        with self.lock:
            count = self.counts[observed] = self.counts.get(observed, 0) + 1
        return count >= required

    def load_stored(self) -> None:
        """Adds the programs that earlier processes compiled; does nothing at later calls."""
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


class SpecializedPrograms:
    """The general program of an engine, and those that are specialised for observations of its runs.

    programs: in the order in which runs try them; replaced as a whole, since several threads read it.  latest: the program used
    last, unless that is the general one; None before the first.  failed: observations for which no program could be compiled.  pending: what the last run of the general program observed.  watches_elements: whether
    programs may yet be compiled for elements of parameters.
    """

    def __init__(
        self, general: NativeProgram, shared: Specializations, compiler: Compiler, threads: int | None
    ) -> None:
        """compiler: compiles the model of the general program for assumptions.  threads: of programs."""
        self.general, self.shared, self.compiler, self.threads = general, shared, compiler, threads
        self.counters = general.counters
        self.programs: tuple[SpecializedProgram, ...] = ()
        self.latest: SpecializedProgram | None = None
        self.version = 0  # of the shared programs
        self.failed: set[Observed] = set()
        self.pending: Observed = frozenset()
        self.watches_elements = bool(general.program.parameters) and not general.observations
        self.lock = Lock()  # of what is replaced below
        LOCK_OWNERS.add(self)
        self.discarded_runs = 0  # on the fast path of a program whose assumptions did not hold
        self.last_run = local()  # native: the program that computed the last outputs of this thread

    def renew_locks(self) -> None:
        self.lock = Lock()

    @property
    def natives(self) -> list[NativeProgram]:
        """All programs, the most recently used one first, and the general one last."""
        latest = () if self.latest is None else (self.latest.native,)
        others = (program.native for program in self.programs if program is not self.latest)
        return [*latest, *others, self.general]

    def try_run(
        self, feeds: object, control: RunControl | None = None, out: OutputArrays | None = None
    ) -> dict[str, RuntimeValue] | None:
        """The outputs, on the fast path of a program whose assumptions hold; None if there is none.

        The general program has its turn only if none can be specialised, since its fast path observes nothing.
        """
        for program in self.programs:
            outputs = program.native.try_run(feeds, control, out) if program.accepts(feeds) else None
            if outputs is None:
                continue
            if guard := take_conditions(program.native, outputs):
                self.record_bailout(guard)
                with self.lock:
                    self.discarded_runs += 1
            else:
                self.mark_used(program)
                return outputs
        is_final = self.failed or not (self.general.observations or self.watches_elements)
        return self.general.try_run(feeds, control, out) if is_final else None

    def run(
        self,
        feeds: Mapping[str, RuntimeValue],
        limits: RunLimits,
        random_source: RandomSource,
        control: RunControl,
    ) -> dict[str, RuntimeValue]:
        """The outputs by name; raises what `NativeProgram.run` raises."""
        self.adopt_shared()
        if self.watches_elements:
            self.specialize_elements(feeds, limits, control)
        if self.pending:
            self.specialize(feeds, limits, control)
        for program in self.programs:
            if not program.accepts(feeds):
                continue
            outputs = self.attempt(program.native, feeds, limits, random_source, control)
            if outputs is not None:
                self.mark_used(program)
                self.last_run.native = program.native
                return outputs
        self.last_run.native = self.general
        outputs = self.general.run(feeds, limits, random_source, control)
        self.pending = self.general.observed
        return outputs

    def attempt(
        self,
        native: NativeProgram,
        feeds: Mapping[str, RuntimeValue],
        limits: RunLimits,
        random_source: RandomSource,
        control: RunControl,
    ) -> dict[str, RuntimeValue] | None:
        """The outputs of a specialised program; None if an assumption does not hold, which is counted."""
        try:
            outputs = native.run(feeds, limits, random_source, control)
            guard = take_conditions(native, outputs)
        except Bailout as bailout:
            guard = bailout.guard
        except EvaluationError:
            return None  # in a branch that is not taken; otherwise the general program raises it, too
        if guard:
            self.record_bailout(guard)
            return None
        return outputs

    def record_bailout(self, guard: str) -> None:
        self.counters.record_bailout(guard, "another program of the session runs the model")

    @property
    def last_program(self) -> SpecializedProgram:
        """The program that ran last in this thread, with all checks."""
        native: NativeProgram = getattr(self.last_run, "native", self.general)
        own = (program for program in self.programs if program.native is native)
        return next(own, SpecializedProgram((), native))

    def record_validated(self, feeds: Mapping[str, RuntimeValue]) -> None:
        """As of `NativeProgram`, for the program that ran last in this thread."""
        self.last_program.native.record_validated(feeds)

    def mark_used(self, program: SpecializedProgram) -> None:
        """Makes a program the most recently used one."""
        if program is not self.latest:
            with self.lock:
                self.latest = program
                self.programs = arrange((program, *(p for p in self.programs if p is not program)))
            self.shared.mark_used(program.assumptions)

    # --- compiling ---------------------------------------------------------------------------

    def adopt_shared(self) -> None:
        """Opens the programs that other engines and processes have compiled, and closes those that were dropped."""
        shared = self.shared
        shared.load_stored()
        if self.version == shared.version:
            return
        with self.lock:
            with shared.lock:
                version, sources = shared.version, dict(shared.programs)
            opened = {program.assumptions: program for program in self.programs}
            programs = (
                opened.get(assumptions) or self.open(assumptions, source)
                for assumptions, source in reversed(sources.items())
            )
            self.programs = arrange(program for program in programs if program is not None)
            self.latest = self.latest if self.latest in self.programs else None
            self.version = version

    def open(self, assumptions: Assumptions, source: ProgramSource) -> SpecializedProgram | None:
        native = source.open(self.threads, self.counters)
        elements = tuple(elements_of(assumptions))
        return None if native is None else SpecializedProgram(assumptions, native, elements)

    def specialize(self, feeds: Mapping[str, RuntimeValue], limits: RunLimits, control: RunControl) -> None:
        """Compiles a program for what the last general run observed, unless another thread is compiling one."""
        observed, self.pending = self.pending, frozenset()
        if observed in self.failed or not self.shared.compiling.acquire(blocking=False):
            return
        try:
            if self.shared.is_due(observed):
                self.try_compile(observed, feeds, limits, control)
        finally:
            self.shared.compiling.release()

    def specialize_elements(
        self, feeds: Mapping[str, RuntimeValue], limits: RunLimits, control: RunControl
    ) -> None:
        """Compiles a program for the elements of the parameters in this run.

        The first run with them has it already, so that runs with equal feeds have equal bits.  The first MAX_ELEMENTS sets of
        elements have programs; the general one serves the others.
        """
        if self.has_elements_of(feeds):
            return
        with self.shared.compiling:
            self.adopt_shared()
            if self.has_elements_of(feeds):
                return
            observed = frozenset(observe_elements(self.general, feeds))
            count = sum(bool(program.elements) for program in self.programs) + len(self.failed)
            if observed and count < MAX_ELEMENTS:
                self.try_compile(observed, feeds, limits, control)
            else:
                self.watches_elements = False

    def has_elements_of(self, feeds: Mapping[str, RuntimeValue]) -> bool:
        """Whether there is a program for the elements of these feeds."""
        return any(program.elements and program.accepts(feeds) for program in self.programs)

    def try_compile(
        self,
        observed: Observed,
        feeds: Mapping[str, RuntimeValue],
        limits: RunLimits,
        control: RunControl,
    ) -> None:
        """`compile_rounds`; what no program can be compiled for is not tried again."""
        try:
            self.compile_rounds(observed, feeds, limits, control)
        except SardonyxError as error:
            self.failed.add(observed)
            if isinstance(error, CompilationError):
                if not self.counters.tolerates_faults:
                    raise
                self.counters.record_compiler_fault(error)
            log.info("no program is specialised: %s", error)

    def compile_rounds(
        self,
        observed: Observed,
        feeds: Mapping[str, RuntimeValue],
        limits: RunLimits,
        control: RunControl,
    ) -> None:
        """Compiles a program for observations, and again for what runs of it observe, until they observe nothing new."""
        assumptions: Assumptions = ()
        while observed and len(assumptions) < MAX_ROUNDS:
            assumptions = (*assumptions, relevant_assumptions(observed))
            with typed_defects("specialize"), async_compilation():
                self.counters.count_compilation()
                executable = self.compiler(assumptions)
                native = NativeProgram(executable, self.threads, self.counters)
            observed = observe(native, feeds, limits, control)
        if assumptions not in self.shared.programs:
            self.shared.put(assumptions, executable)
            self.adopt_shared()
        log.info("a program is specialised: %s", format_assumptions(assumptions))


def arrange(programs: Iterable[SpecializedProgram]) -> tuple[SpecializedProgram, ...]:
    """Programs, the most recently used one first, in the order of trial: those for elements before those for any elements."""
    return tuple(sorted(programs, key=lambda program: not program.elements))


def relevant_assumptions(observed: Observed) -> Observed:
    """The branches, from which most ranks follow; or all observations if there are none."""
    return frozenset(a for a in observed if isinstance(a, BranchTaken)) or observed


def observe(
    native: NativeProgram, feeds: Mapping[str, RuntimeValue], limits: RunLimits, control: RunControl
) -> Observed:
    """What a run of a program observes, whose outputs are dropped; nothing if it fails."""
    if not native.observations:
        return frozenset()
    try:
        outputs = native.run(feeds, limits, RandomSource(0), control)
    except (Bailout, EvaluationError):
        return frozenset()
    finally:
        native.release_contexts()
    return frozenset() if take_conditions(native, outputs) else native.observed


def take_conditions(native: NativeProgram, outputs: dict[str, RuntimeValue]) -> str:
    """Removes the conditions from the outputs; returns the first assumption that does not hold, or ""."""
    failed = ""
    for name, branch in native.program.assumed_branches.items():
        if bool(np.all(np.asarray(outputs.pop(name)))) is not branch.is_then:
            failed = failed or str(branch)
    return failed


def renew_locks() -> None:
    """Renews the locks of all owners, in a forked child."""
    for owner in tuple(LOCK_OWNERS):
        owner.renew_locks()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=renew_locks)
