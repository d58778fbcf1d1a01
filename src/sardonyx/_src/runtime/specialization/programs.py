"""Chooses among the general program of an engine and its specialized programs, and decides when another one is compiled."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import Lock, local
from typing import TYPE_CHECKING

from sardonyx._src.compile.llvm.kernel_origin import kernels_from
from sardonyx._src.compile.program.encoding.length_equations import LengthEquations
from sardonyx._src.compile.program.steps.assumptions import (
    Assumptions,
    elements_of,
)
from sardonyx._src.errors import CompilationError, EvaluationError, SardonyxError
from sardonyx._src.interp.run_control import RunControl
from sardonyx._src.interp.run_state import RandomSource
from sardonyx._src.logs import get_logger
from sardonyx._src.ops.run_values import RunLimits, RuntimeValue
from sardonyx._src.runtime.limits.run_limits import Bailout
from sardonyx._src.runtime.results.output_arrays import OutputMemory
from sardonyx._src.runtime.runs.native_program import NativeProgram
from sardonyx._src.runtime.specialization.fork_locks import LOCK_OWNERS
from sardonyx._src.runtime.specialization.program import (
    Observed,
    SpecializedProgram,
    observe_elements,
    take_conditions,
)
from sardonyx._src.runtime.specialization.shared import ProgramSource, Specializations

if TYPE_CHECKING:
    from sardonyx._src.runtime.specialization.compilation import Compiler


MAX_ELEMENTS = (
    2  # programs for elements of parameters: the first run with new elements waits for the compilation
)
log = get_logger(__name__)


class SpecializedPrograms:
    """The general program of an engine, and the programs that are specialized for observations of its runs.

    programs: the specialized programs in the order in which runs try them; replaced as a whole, since several threads read
        the tuple.
    latest: the specialized program used last; None before the first one.
    version: the version of `shared` from which `programs` was made.
    failed: observations for which no program could be compiled.
    pending: the observations of the last run of the general program, for which the next run may compile a program.
    watches_elements: whether further programs may be compiled for elements of parameters.
    lock: guards `programs`, `latest`, `version` and `discarded_runs`.
    discarded_runs: runs on the fast path of a program whose assumptions turned out wrong.
    last_run: its field `native` is the program that computed the last outputs of the current thread.
    """

    def __init__(
        self, general: NativeProgram, shared: Specializations, compiler: Compiler, threads: int | None
    ) -> None:
        """compiler: compiles the model of the general program for assumptions.
        threads: the number of threads of a program; None for the default.
        """
        # Lazy: few programs are specialized.
        from sardonyx._src.runtime.specialization.compilation import RoundCompiler

        self.general, self.shared, self.threads = general, shared, threads
        self.counters = general.counters
        self.compiler = RoundCompiler(compiler, shared, threads, self.counters)
        self.programs: tuple[SpecializedProgram, ...] = ()
        self.latest: SpecializedProgram | None = None
        self.version = 0
        self.failed: set[Observed] = set()
        self.pending: Observed = frozenset()
        self.watches_elements = bool(general.program.parameters) and not general.observations
        self.lock = Lock()
        LOCK_OWNERS.add(self)
        self.discarded_runs = 0
        self.last_run = local()

    def renew_locks(self) -> None:
        self.lock = Lock()

    @property
    def natives(self) -> list[NativeProgram]:
        """All programs: the specialized program used last first, and the general program last."""
        latest = () if self.latest is None else (self.latest.native,)
        others = (program.native for program in self.programs if program is not self.latest)
        return [*latest, *others, self.general]

    def try_run(
        self, feeds: object, control: RunControl | None = None, out: OutputMemory | None = None
    ) -> dict[str, RuntimeValue] | None:
        """The outputs, on the fast path of a program whose assumptions hold; None if there is none.

        The general program is tried only if no other program can be compiled, since its fast path observes nothing.
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
        with kernels_from(self.counters.start):
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
        """The outputs of a specialized program; None if an assumption does not hold, which counts as a bailout."""
        try:
            outputs = native.run(feeds, limits, random_source, control)
            guard = take_conditions(native, outputs)
        except Bailout as bailout:
            guard = bailout.guard
        except EvaluationError:
            return None  # maybe in a branch that must not be taken; if not, the general program raises the error, too
        if guard:
            self.record_bailout(guard)
            return None
        return outputs

    def record_bailout(self, guard: str) -> None:
        self.counters.record_bailout(guard, "another program of the session runs the model")

    @property
    def last_program(self) -> SpecializedProgram:
        """The program of the last run of this thread that was not on the fast path."""
        native: NativeProgram = getattr(self.last_run, "native", self.general)
        specialized = (program for program in self.programs if program.native is native)
        return next(specialized, SpecializedProgram((), native))

    def record_validated(
        self, feeds: Mapping[str, RuntimeValue], *, equations: LengthEquations | None
    ) -> None:
        """`NativeProgram.record_validated` of the program that ran last in this thread."""
        self.last_program.native.record_validated(feeds, equations=equations)

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
        """Compiles a program for the observations of the last general run, unless another thread is compiling one."""
        observed, self.pending = self.pending, frozenset()
        if observed in self.failed or not self.shared.compiling.acquire(blocking=False):
            return
        try:
            if self.shared.count_run(observed):
                self.try_compile(observed, feeds, limits, control)
        finally:
            self.shared.compiling.release()

    def specialize_elements(
        self, feeds: Mapping[str, RuntimeValue], limits: RunLimits, control: RunControl
    ) -> None:
        """Compiles a program for the elements of the parameters in this run, unless there is one.

        The first run with these elements already uses the program, so that runs with equal feeds have equal bits.  There are
        programs for the first MAX_ELEMENTS sets of elements; the general program serves all others.
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
        """Compiles a program for the observations of a run; if that fails, it is not tried again for them."""
        try:
            self.compiler.compile(observed, feeds, limits, control)
            self.adopt_shared()
        except SardonyxError as error:
            self.failed.add(observed)
            if isinstance(error, CompilationError):
                if not self.counters.tolerates_faults:
                    raise
                self.counters.record_compiler_fault(error)
            log.info("no program is specialized: %s", error)


def arrange(programs: Iterable[SpecializedProgram]) -> tuple[SpecializedProgram, ...]:
    """Programs in the order in which runs try them: programs for elements of parameters come before all others.

    programs: the most recently used one first, an order that is kept within both groups.
    """
    return tuple(sorted(programs, key=lambda program: not program.elements))
