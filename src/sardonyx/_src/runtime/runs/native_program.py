"""A compiled program in this process: kernels loaded, slots encoded, and execution contexts for its runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sardonyx._src.compile.executor.entry_layout import DONE, READY, RESIZED
from sardonyx._src.compile.llvm.kernel_origin import kernels_from
from sardonyx._src.compile.program import EXACT, Buffer, Precision
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.compile.program.encoding.length_equations import LengthEquations
from sardonyx._src.compile.program.memory.arena import MemoryPlan
from sardonyx._src.compile.program.steps.assumptions import Assumptions
from sardonyx._src.compile.program.steps.program import Program
from sardonyx._src.compile.program.verification.defects import typed_defects
from sardonyx._src.errors import CompilationError
from sardonyx._src.interp.run_control import RunControl
from sardonyx._src.interp.run_state import RandomSource, RunState
from sardonyx._src.io.map_guard import MapGuard
from sardonyx._src.ir import Array, Model
from sardonyx._src.ir.walk import model_tensors
from sardonyx._src.ops.run_values import RunLimits, RuntimeValue, as_plain_value
from sardonyx._src.runtime.fallbacks.fallback_ops import FallbackRunner
from sardonyx._src.runtime.fast_path.fast_path import FastPath, has_fast_path, runs_natively
from sardonyx._src.runtime.fast_path.recorded_run import ChangedResult
from sardonyx._src.runtime.fast_path.sized_path import SizedPath, has_sized_path
from sardonyx._src.runtime.limits.run_limits import Bailout
from sardonyx._src.runtime.limits.thread_pool import get_thread_pool
from sardonyx._src.runtime.programs.loaded_program import LoadedProgram
from sardonyx._src.runtime.programs.relocations import find_relocations
from sardonyx._src.runtime.programs.stats import RunCounters
from sardonyx._src.runtime.results.output_arrays import OutputMemory
from sardonyx._src.runtime.runs.execution_context import ExecutionContext

if TYPE_CHECKING:
    from sardonyx._src.rewrite.support.evaluate import Evaluate
    from sardonyx._src.runtime.fallbacks.native_subgraphs import SubgraphCompiler
    from sardonyx._src.runtime.programs.memory_report import MemoryReport


class NativeProgram(LoadedProgram):
    """A program ready to run.  Simultaneous runs, in several threads, have an execution context each.

    contexts: all execution contexts.
    idle_contexts: the contexts that no run uses at the moment.
    """

    def __init__(
        self, executable: Executable, threads: int | None = None, counters: RunCounters | None = None
    ) -> None:
        # Lazy: programs from files have their code.
        from sardonyx._src.compile.llvm.loaded_kernels import count_library_kernels, interpreted_kernels
        from sardonyx._src.runtime.programs.compiled_addresses import SizeFunctionLoader, process_bases

        self.executable, program, encoding = executable, executable.program, executable.encoding
        self.initialize(program, executable.plan, counters)
        size_function = SizeFunctionLoader(program, encoding)
        self.fallback = FallbackRunner(program, subgraph_compiler(threads, self.counters, program.precision))
        self.pool = get_thread_pool(threads)
        self.fixed_slots = np.array([v if isinstance(v, int) else 0 for v in encoding.values], np.int64)
        self.base_indices = np.array(encoding.bases, np.int64)
        self.varying_slots = np.flatnonzero([not isinstance(v, int) for v in encoding.values])
        self.bases = process_bases(encoding, self.pool.threads)
        self.relocations = find_relocations(encoding.extra_bases, self.base_indices)
        self.size_function = size_function.load()
        self.has_fast_path = has_fast_path(self)
        self.has_sized_path = has_sized_path(self)
        self.calls_fallback_ops = self.has_fast_path and not runs_natively(program)
        constants = (buffer.data for buffer in encoding.extra_bases if isinstance(buffer, Buffer))
        self.map_guard = MapGuard(
            model_tensors(program.model), [data for data in constants if data is not None]
        )
        library_kernels = count_library_kernels(program.kernels)
        self.counters.count_program(library_kernels, len(program.kernels) - library_kernels)
        interpreted = interpreted_kernels(program.kernels)
        self.replace_interpreted([(encoding.extra_bases[kernel], kernel.key) for kernel in interpreted])

    def initialize(self, program: Program, plan: MemoryPlan, counters: RunCounters | None) -> None:
        super().initialize(program, plan, counters)
        self.contexts: list[ExecutionContext] = []
        self.idle_contexts: deque[ExecutionContext] = deque()

    def replace_interpreted(self, kernels: Sequence[tuple[int, str]]) -> None:
        """Has interpreted kernels replaced in the background.  kernels: the base of each in `bases`, and its key."""
        if kernels:
            from sardonyx._src.runtime.programs.kernel_replacement import (
                request_kernels,
            )  # lazy: libraries have most

            request_kernels(self, kernels)

    def replace_kernel(self, base: int, address: int) -> None:
        """Replaces the code of a kernel by code with equal results; runs that go on call either.  base: its index in `bases`."""
        self.bases[base] = address
        slots = np.flatnonzero(self.base_indices == base).tolist()
        for context in tuple(self.contexts):
            context.memory.bases[base] = address
            for slot in slots:  # one store each, which native code sees whole
                context.memory.slots[slot] = address
        self.counters.count_replaced()

    @property
    def fast_path_runs(self) -> int:
        return sum(context.fast_path_runs for context in tuple(self.contexts))

    def run(
        self,
        feeds: Mapping[str, RuntimeValue],
        limits: RunLimits,
        random_source: RandomSource,
        control: RunControl | None = None,
    ) -> dict[str, RuntimeValue]:
        """The outputs by name, for feeds that match the declared inputs; raises Bailout, LimitError, CancelledError, or
        what a fallback op raises."""
        run = RunState(limits, random_source, control or RunControl(self.cancellation))
        try:
            return {name: as_plain_value(x) for name, x in self.run_in(feeds, run).items()}
        finally:
            run.memory.clear()

    def run_in(self, feeds: Mapping[str, RuntimeValue], run: RunState) -> dict[str, RuntimeValue]:
        """`run` within a run that may have begun before, as the run of the enclosing graph has for a subgraph."""
        if self.map_guard:
            self.map_guard.require_unchanged()
        try:
            context = self.idle_contexts.pop()
        except IndexError:
            context = ExecutionContext(self)
            self.contexts.append(context)
        try:
            return context.run(feeds, run)
        finally:
            self.idle_contexts.append(context)

    def run_subgraph(
        self, feeds: Mapping[str, RuntimeValue], run: RunState
    ) -> dict[str, RuntimeValue] | None:
        """The outputs of a subgraph within a run of its graph; None if a guard fails."""
        try:
            outputs = self.run_in(feeds, run)
        except Bailout as bailout:
            self.counters.record_bailout(
                f"{bailout.guard} (in a subgraph)", "the reference engine runs the subgraph"
            )
            return None
        self.record_validated(feeds, equations=())
        return outputs

    def try_run(
        self,
        feeds: object,
        control: RunControl | None = None,
        out: OutputMemory | None = None,
        max_bytes: int | None = None,
    ) -> dict[str, RuntimeValue] | None:
        """The outputs, on the fast path; None for feeds that differ in type or shape from the feeds of validated runs.

        control: whether the run must end; None: only if the session cancels it from now on.
        out: arrays that receive outputs; those that it cannot write are returned in new arrays.
        max_bytes: the limit on the memory of a run of new sizes; None: that of validated runs.
        """
        if self.map_guard:
            self.map_guard.require_unchanged()
        started_at = self.cancellation.count
        try:
            context = self.idle_contexts.pop()
        except IndexError:
            return None
        try:
            fast_path = context.fast_path
            if fast_path is None or type(feeds) is not dict or len(feeds) != len(self.input_names):
                return None
            if type(fast_path) is SizedPath and not fast_path.prepare(feeds, out, max_bytes):
                return None
            if out is None:
                outputs = fast_path.new_outputs()
            elif fast_path.calls is None:
                outputs = out.place(fast_path.outputs, self.output_names, self.program.in_place)
            else:
                return None
            if fast_path.calls is not None:
                control = control or RunControl(self.cancellation, started_at)
                return self.try_calls(context, fast_path, feeds, outputs, control)
            state = fast_path.enter(*map(feeds.get, fast_path.inputs), *outputs)
            if state == RESIZED and isinstance(fast_path, SizedPath):
                fast_path.read_outputs()
                outputs = fast_path.new_outputs()
                state = fast_path.enter(*map(feeds.get, fast_path.inputs), *outputs)
            if state == READY:
                control = control or RunControl(self.cancellation, started_at)
                state = context.finish(control, (*feeds.values(), *outputs))
            if state != DONE:
                return None
            context.fast_path_runs += 1
            return dict(zip(self.output_names, outputs, strict=True))
        except (MemoryError, ValueError):  # ValueError: NumPy has no arrays of such dims
            return None
        finally:
            self.idle_contexts.append(context)

    def try_calls(
        self,
        context: ExecutionContext,
        fast_path: FastPath,
        feeds: Mapping[str, object],
        outputs: list[Array],
        control: RunControl,
    ) -> dict[str, RuntimeValue] | None:
        """`try_run` for a program with fallback operations."""
        calls = fast_path.calls
        assert calls is not None, "the program has no fallback operations"
        strings = calls.bind_feeds(feeds)
        if strings is None:
            return None
        if fast_path.enter(*map(feeds.get, fast_path.inputs), *outputs, *strings) not in (DONE, READY):
            return None
        try:
            results = context.run_calls(calls, feeds, strings, outputs, control)
        except ChangedResult:
            return None
        if results is None:
            return None
        context.fast_path_runs += 1
        return dict(zip(self.output_names, results, strict=True))

    def record_validated(
        self, feeds: Mapping[str, RuntimeValue], *, equations: LengthEquations | None = None
    ) -> None:
        """Records that a run with feeds of these sizes, and its outputs, matched the model's declarations.

        equations: what the lengths of another run must satisfy to match them; None if that is unknown.
        """
        if not self.has_fast_path:
            return
        try:
            context = self.idle_contexts.pop()
        except IndexError:
            return
        try:
            if context.input_sizes == self.input_sizes(feeds):
                context.record_validated(equations=equations)
        finally:
            self.idle_contexts.append(context)

    def release_contexts(self) -> None:
        """Frees the memory of runs at once, without the garbage collector: contexts and program refer to each other."""
        self.idle_contexts.clear()
        self.contexts.clear()

    def memory_plan(self, lengths: Mapping[str, int]) -> MemoryReport:
        """The memory of a run with these dims; raises InputError for dims that no run can have."""
        # Lazy: few sessions need it.
        from sardonyx._src.runtime.programs.memory_report import build_memory_report

        return build_memory_report(self.executable, self.pool.threads, lengths)


def compile_for_host(
    model: Model, *, tolerant: bool = False, assumptions: Assumptions = (), precision: Precision = EXACT
) -> Executable:
    """Compiles a model for this machine, under the assumption that callers override no initializer.

    tolerant, assumptions, precision: as of `compile_model`.
    """
    # Lazy imports: cached and saved programs run without the compiler, which is slow to import.
    from sardonyx._src.compile.llvm.jit import compile_target
    from sardonyx._src.compile.pipeline import compile_model
    from sardonyx._src.runtime.programs.async_compilation import compile_runner_async

    target = compile_target()
    compile_runner_async(target)
    return compile_model(
        model,
        target,
        verify=True,
        tolerant=tolerant,
        assumptions=assumptions,
        precision=precision,
        evaluate=constant_evaluation(tolerant=tolerant),
    )


def constant_evaluation(*, tolerant: bool) -> Evaluate:
    """The evaluation of nodes on constants, by programs for this machine where their bits depend on kernels.

    tolerant: as of `compile_model`.
    """
    # Lazy imports: cached and saved programs run without the compiler, which is slow to import.
    from sardonyx._src.compile.llvm.host_target import compile_for_class
    from sardonyx._src.compile.llvm.jit import host_target
    from sardonyx._src.compile.pipeline import compile_model
    from sardonyx._src.rewrite.support.evaluate import FOLDING_LIMITS, evaluate_fixed_bits
    from sardonyx._src.runtime.runs.native_constants import native_evaluation

    def run(model: Model, feeds: Mapping[str, Array]) -> Mapping[str, RuntimeValue]:
        with compile_for_class(""):
            executable = compile_model(
                model, host_target(), verify=True, tolerant=tolerant, evaluate=evaluate_fixed_bits
            )
            return NativeProgram(executable, threads=1).run(feeds, FOLDING_LIMITS, RandomSource())

    return native_evaluation(run)


def subgraph_compiler(threads: int | None, counters: RunCounters, precision: Precision) -> SubgraphCompiler:
    """A function that compiles a subgraph of a fallback op.

    It returns None if the compiler fails and `counters.tolerates_faults`, so that the reference engine runs the subgraph.
    """

    def compile_subgraph(model: Model) -> NativeProgram | None:
        try:
            with typed_defects("compile a subgraph"), kernels_from(counters.start):
                counters.count_compilation()
                executable = compile_for_host(model, tolerant=counters.tolerates_faults, precision=precision)
                native = NativeProgram(executable, threads, counters)
        except CompilationError as error:
            if not counters.tolerates_faults:
                raise
            counters.record_compiler_fault(error)
            return None
        counters.record_compiler_faults(executable.defects)
        return native

    return compile_subgraph
