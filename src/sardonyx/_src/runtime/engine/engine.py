"""The native engine of a session: compiled programs, and the reference engine for runs that they cannot execute."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypedDict, Unpack

import numpy as np

from sardonyx._src.compile.program import EXACT, Precision
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.compile.program.encoding.length_equations import LengthEquations
from sardonyx._src.compile.program.steps.assumptions import Assumptions, format_assumptions
from sardonyx._src.compile.program.steps.program import FallbackOp, Program
from sardonyx._src.compile.program.verification.defects import DEFECTS, typed_defects
from sardonyx._src.errors import CompilationError, are_defects_fatal
from sardonyx._src.interp.run_control import RunControl
from sardonyx._src.interp.run_state import RandomSource
from sardonyx._src.io.garbage_collection import pause_gc
from sardonyx._src.io.loading.model_sources import DecoderEdit
from sardonyx._src.io.memory_release import release_file_pages
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.ir import Model, Tensor
from sardonyx._src.ops.run_values import RunLimits, RuntimeValue
from sardonyx._src.runtime.declarations.inner_declarations import DeclarationObserver, StaticDeclarations
from sardonyx._src.runtime.engine.lazy_model import LazyModel
from sardonyx._src.runtime.engine.shared_programs import SHARED_PROGRAMS
from sardonyx._src.runtime.fallbacks.fallback_ops import values_read
from sardonyx._src.runtime.fallbacks.interruptible_calls import call_interruptibly
from sardonyx._src.runtime.identity.model_stamps import ModelStamp, ProgramKey
from sardonyx._src.runtime.limits.run_limits import MEMORY_LIMIT, OVERRIDDEN_INITIALIZER, Bailout
from sardonyx._src.runtime.programs.stats import RunCounters, SessionStats
from sardonyx._src.runtime.runs.native_program import NativeProgram, compile_for_host
from sardonyx._src.runtime.specialization.programs import SpecializedPrograms
from sardonyx._src.runtime.specialization.shared import Specializations

if TYPE_CHECKING:
    from sardonyx._src.interp.interpreter import Interpreter
    from sardonyx._src.runtime.programs.memory_report import MemoryReport
    from sardonyx._src.runtime.results.output_arrays import OutputMemory


class EngineOptions(TypedDict, total=False):
    """The keywords of all native engines, as of `Session`.  counters: the counters of the session."""

    threads: int | None
    limits: RunLimits | None
    seed: int | None
    counters: RunCounters | None


class Programs(Protocol):
    """The programs of an engine, one of which executes a run."""

    def run(
        self,
        feeds: Mapping[str, RuntimeValue],
        limits: RunLimits,
        random_source: RandomSource,
        control: RunControl,
    ) -> dict[str, RuntimeValue]:
        """The outputs by name; raises what `NativeProgram.run` raises."""

    def try_run(
        self, feeds: object, control: RunControl | None = None, out: OutputMemory | None = None
    ) -> dict[str, RuntimeValue] | None:
        """The outputs, on the fast path; None for feeds that differ in type or shape from the feeds of validated runs."""

    def record_validated(
        self, feeds: Mapping[str, RuntimeValue], *, equations: LengthEquations | None
    ) -> None:
        """Records that a run with feeds of these sizes, and its outputs, matched the model's declarations.

        equations: what the lengths of another run must satisfy to match them; None if that is unknown.
        """


class NativeEngine:
    """Runs a model as a compiled program.

    The program is compiled for callers who override no initializer, and for feeds that satisfy its guards.  Everything
    else, including observed runs, goes to the reference engine, which reports what is wrong with the feeds.
    """

    loaded_reference: Interpreter | None = None  # the reference engine, once it was needed
    declarations: StaticDeclarations  # the declared sizes of inner values, as far as inference decides them
    specialized: SpecializedPrograms | None = (
        None  # if runs show branches or ranks that inference cannot know
    )
    programs: Programs  # `specialized` if there is one, else the native program

    def __init__(
        self,
        model: Model,
        *,
        stamp: ModelStamp | None = None,
        executable: Executable | None = None,
        precision: Precision = EXACT,
        edit: DecoderEdit | None = None,
        **options: Unpack[EngineOptions],
    ) -> None:
        """stamp: the stamp of the files that contain all data of the model; None if there are none.  Engines of one
            stamp and precision share a program, and so do engines of models with equal content and precision.
        edit: what the model differs in from that of the files; None for nothing.
        executable: the compiled model, if it is compiled already.

        Raises, before anything runs, what the reference engine raises for a model that cannot be run.
        """
        # Lazy: cached programs need no compiler.
        from sardonyx._src.runtime.programs.async_compilation import async_compilation

        self.initialize(model, options)
        self.loaded_reference = self.make_reference()
        # Lazy imports: cached programs run without them.
        from sardonyx._src.runtime.declarations.declaration_analysis import analyze_declarations
        from sardonyx._src.runtime.engine.program_sharing import find_shared_program, share_program
        from sardonyx._src.runtime.identity.content_hash import digest_model

        with async_compilation(), limit_nesting(), pause_gc():
            content = stamp or digest_model(model)
            key = None if content is None else ProgramKey(content, precision, self.counters.start, edit)
            self.shared_program = find_shared_program(key) or share_program(
                executable or self.compile(model, precision), analyze_declarations(model), content
            )
            self.declarations = self.shared_program.declarations
            self.native = NativeProgram(self.shared_program.executable, self.threads, self.counters)
        defects = self.shared_program.executable.defects
        self.counters.record_compiler_faults(defects)
        # Shared only from here on: weights are packed now, so that callers' writes cannot change them.
        if key is not None and not defects:
            SHARED_PROGRAMS[key] = self.shared_program
        self.specialize_runs(self.shared_program.specializations)

    def compile(self, model: Model, precision: Precision) -> Executable:
        """The executable of a model."""
        self.counters.count_compilation()
        return compile_releasing_weights(model, tolerant=self.counters.tolerates_faults, precision=precision)

    def specialize_runs(self, shared: Specializations) -> None:
        """Prepares runs of the native program, and of programs that are specialized for what its runs show.

        Only a program with observations or parameters has such specialized programs.
        """
        self.programs = self.native
        if self.native.observations or self.native.program.parameters:
            self.programs = self.specialized = SpecializedPrograms(
                self.native, shared, partial(compile_specialized, self.source, self.precision), self.threads
            )
        self.try_run = self.programs.try_run

    def initialize(self, source: Model | LazyModel, options: EngineOptions) -> None:
        """Sets the attributes that do not depend on the program."""
        self.source = source
        self.interface = source if isinstance(source, Model) else source.interface
        self.threads = options.get("threads")
        self.limits = options.get("limits") or RunLimits()
        self.random_source = RandomSource(options.get("seed"))
        self.counters = options.get("counters") or RunCounters()
        self.defaults = {v.name for v in self.interface.graph.inputs if v.initializer is not None}

    @property
    def model(self) -> Model:
        return self.source if isinstance(self.source, Model) else self.source.model

    @property
    def precision(self) -> Precision:
        """The precision of the factors of float32 products."""
        return self.native.program.precision

    @property
    def reference(self) -> Interpreter:
        """The reference engine for the same model."""
        if self.loaded_reference is None:
            self.loaded_reference = self.make_reference()
        return self.loaded_reference

    def make_reference(self) -> Interpreter:
        """A reference engine that draws from the same source of random numbers."""
        from sardonyx._src.interp.interpreter import Interpreter  # lazy: few runs need it

        return Interpreter(self.model, limits=self.limits, random_source=self.random_source)

    def __del__(self) -> None:
        if hasattr(self, "native"):
            for native in self.natives:
                native.release_contexts()

    @property
    def natives(self) -> list[NativeProgram]:
        """The native programs, the most recently used one first."""
        return [self.native] if self.specialized is None else self.specialized.natives

    @property
    def assumptions(self) -> str:
        """The assumptions of the program that ran last, as text; "" for none."""
        latest = None if self.specialized is None else self.specialized.latest
        return "" if latest is None else format_assumptions(latest.assumptions)

    def run_reference(
        self,
        feeds: Mapping[str, RuntimeValue],
        guard: str,
        observer: DeclarationObserver | None,
        control: RunControl,
    ) -> dict[str, RuntimeValue]:
        """The outputs, computed by the reference engine.

        guard: why the compiled program cannot execute the run, counted as a bailout; "" for a run that is not counted.
        """
        if guard:
            self.counters.record_bailout(guard)
        return run_interruptibly(self.reference, feeds, observer, control)

    def run(
        self, feeds: Mapping[str, RuntimeValue], control: RunControl | None = None
    ) -> dict[str, RuntimeValue]:
        """The outputs by name; inputs that are not fed have their defaults.  control: whether the run must end."""
        control = control or RunControl(self.counters.cancellation)
        if not self.defaults.isdisjoint(feeds):
            return self.run_reference(feeds, OVERRIDDEN_INITIALIZER, None, control)
        try:
            with np.errstate(all="ignore"), limit_nesting():
                return self.programs.run(feeds, self.limits, self.random_source, control)
        except Bailout as bailout:
            return self.run_reference(feeds, bailout.guard, None, control)
        except MemoryError:
            return self.run_reference(feeds, MEMORY_LIMIT, None, control)
        except (CompilationError, *DEFECTS) as defect:
            if are_defects_fatal():
                raise
            error = (
                defect if isinstance(defect, CompilationError) else CompilationError.of(defect, stage="run")
            )
            if not self.counters.tolerates_faults:
                raise error from error.__cause__
            self.counters.record_compiler_fault(error)
            return self.run_reference(feeds, "", None, control)

    def record_validated(
        self, feeds: Mapping[str, RuntimeValue], *, equations: LengthEquations | None = None
    ) -> None:
        """Records that feeds of these sizes, and the outputs of their run, matched the model's declarations.

        equations: what the lengths of another run must satisfy to match them; None if that is unknown.
        """
        if not self.defaults.isdisjoint(feeds):
            return
        try:
            self.programs.record_validated(feeds, equations=equations)
        except DEFECTS as defect:  # while the fast path was built; runs work without it
            if are_defects_fatal():
                raise
            self.counters.record_compiler_fault(CompilationError.of(defect, stage="build the fast path"))

    def memory_plan(self, lengths: Mapping[str, int]) -> MemoryReport:
        """The memory of a run with these dims; raises InputError for dims that no run can have."""
        with typed_defects("plan memory"):
            return self.native.memory_plan(lengths)

    def stats(self) -> SessionStats:
        """The counters of the session, and those of its native programs."""
        natives = self.natives
        discarded = 0 if self.specialized is None else self.specialized.discarded_runs
        return self.counters.stats(
            fast_path_runs=sum(native.fast_path_runs for native in natives) - discarded,
            fallback_nodes=natives[0].fallback_nodes,
            specializations=len(natives) - 1,
            precision=self.precision,
        )


def run_interruptibly(
    reference: Interpreter,
    feeds: Mapping[str, RuntimeValue],
    observer: DeclarationObserver | None,
    control: RunControl,
) -> dict[str, RuntimeValue]:
    """A run of the reference engine in a helper thread; an observer may watch it."""

    def run() -> dict[str, RuntimeValue]:
        if observer is None:
            return reference.run(feeds, control=control)
        return reference.run(feeds, observer.observe_node, observer.observe_inputs, control)

    return call_interruptibly(run, control)


def compile_releasing_weights(
    model: Model, *, tolerant: bool = False, assumptions: Assumptions = (), precision: Precision = EXACT
) -> Executable:
    """Compiles a model whose weights are not packed yet, and frees all other copies of its weights.

    tolerant, assumptions, precision: as of `compile_model`.
    """
    executable = compile_for_host(model, tolerant=tolerant, assumptions=assumptions, precision=precision)
    release_weights(executable.program)
    release_file_pages(
        v.initializer for v in model.graph.initializers.values() if isinstance(v.initializer, Tensor)
    )
    return executable


def compile_specialized(
    source: Model | LazyModel, precision: Precision, assumptions: Assumptions
) -> Executable:
    """A model compiled under assumptions about its runs; raises CompilationError for any defect of the compiler."""
    model = source if isinstance(source, Model) else source.model
    with limit_nesting(), pause_gc():
        return compile_releasing_weights(model, assumptions=assumptions, precision=precision)


def release_weights(program: Program) -> None:
    """Removes the initializers that no fallback op reads from the program's graph: kernels read packed copies."""
    read = {
        value
        for action in program.actions
        if isinstance(action, FallbackOp)
        for value in values_read(action.node)
    }
    graph = program.model.graph
    for value in list(graph.initializers.values()):
        if value not in read and value not in program.outputs:
            graph.remove_initializer(value)
