"""Statistics of a session: its runs, the guards that failed, and the faults of the compiler.

Runs on the fast path are counted in the execution context that runs them, without a lock; `RunCounters` counts the rest.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from sardonyx._src.compile.llvm.kernel_origin import Start
from sardonyx._src.compile.program import EXACT, Precision
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import CompilationError, CompilerWarning
from sardonyx._src.interp.run_control import Cancellation
from sardonyx._src.logs import get_logger
from sardonyx._src.runtime.declarations.shape_policy import ShapeReports

log = get_logger(__name__)
STATS_LOCK = threading.Lock()
Stage: TypeAlias = Literal["reference", "library", "compiled"]


@dataclass(frozen=True, slots=True)
class SessionStats:
    """Counts of a session's runs so far, and of events that make runs slower.

    runs: calls of `Session.run` whose feeds passed the checks.
    fast_path_runs: runs on the fast path: their feeds had the types of earlier runs, and native code checked the shapes.
    bailouts: how often each guard of a compiled program failed, so that the reference engine repeated the run.  Where the
        name says so, it interpreted only a subgraph.  A failed assumption of a specialized program counts as well; another
        program repeats such a run.
    fallback_nodes: the number of reference kernels in the program that ran last; 0 for the reference engine, which has no
        program.
    compiler_faults: how often each failure of the compiler occurred, by stage, exception and, if it is known, node.
        Reference kernels or the reference engine did the work.
    programs: the number of compiled programs, specializations of subgraphs included.
    shape_warnings: the number of locations that a ShapeWarning named or counted, since a size contradicts the model's declaration.
    specializations: the number of programs that are specialized for branches and ranks of runs (at most 4).
    compilations: how often a model, a specialized program of it or a subgraph was compiled; 0 where other sessions or the
        disk cache had all programs.
    precision: the precision of the factors of float32 products by weights.
    verified_runs: runs whose outputs were compared with those of the reference engine, because of `verify`.
    amplified_runs: verified runs that differ by more than the tolerances although every step is right, since the model
        amplifies rounding errors.
    largest_error: the largest difference of two elements in verified runs, relative to the largest element of the output.
    library_kernels: the kernels of these programs whose code comes from the library for the processor's class, those that its
        interpreter computes included, until compiled kernels replace these; a kernel of two programs counts twice.
    compiled_kernels: the other kernels, which LLVM has compiled on a machine of the user, now or earlier.
    uncached: why the disk cache does not have the program that this session compiled, as a folder that cannot be written to,
        so that the next process compiles the model again; empty if it has the program, or if the model is from no file.
    stage: "library" while some kernels come from the library, "compiled" if none does, and "reference" without a compiled
        program.  Results of all stages of the native engine have equal bits.
    """

    runs: int
    fast_path_runs: int
    bailouts: Mapping[str, int]
    fallback_nodes: int
    compiler_faults: Mapping[str, int]
    programs: int
    shape_warnings: int = 0
    specializations: int = 0
    compilations: int = 0
    precision: Precision = EXACT
    verified_runs: int = 0
    amplified_runs: int = 0
    largest_error: float = 0.0
    library_kernels: int = 0
    compiled_kernels: int = 0
    uncached: str = ""

    @property
    def stage(self) -> Stage:
        if not self.programs:
            return "reference"
        return "library" if self.library_kernels else "compiled"


class RunCounters:
    """The counters of one session, shared by all of its programs; threads may count at the same time.

    tolerates_faults: whether the reference engine executes nodes and models that the compiler fails at.
    start: from where the kernels of the session's programs may come.
    unreported_fault: the first failure of the compiler, until `warn` has reported it.
    shape_reports: the locations for which the session has issued a ShapeWarning.
    cancellation: ends all runs of the session.
    """

    def __init__(self, *, tolerates_faults: bool = False, start: Start = "library") -> None:
        self.tolerates_faults, self.start = tolerates_faults, start
        self.runs = self.programs = self.compilations = 0
        self.library_kernels = self.compiled_kernels = 0
        self.verified_runs = self.amplified_runs = 0
        self.largest_error = 0.0
        self.uncached = ""  # why the disk cache does not have the program of the session
        self.bailouts: dict[str, int] = {}
        self.compiler_faults: dict[str, int] = {}
        self.unreported_fault: CompilationError | None = None
        self.shape_reports = ShapeReports()
        self.cancellation = Cancellation()

    def count_run(self) -> None:
        with STATS_LOCK:
            self.runs += 1

    def count_program(self, library_kernels: int, compiled_kernels: int) -> None:
        """Counts a program and its kernels by their origin."""
        with STATS_LOCK:
            self.programs += 1
            self.library_kernels += library_kernels
            self.compiled_kernels += compiled_kernels

    def count_replaced(self) -> None:
        """Counts an interpreted kernel, which was the library's, as a compiled one."""
        with STATS_LOCK:
            self.library_kernels -= 1
            self.compiled_kernels += 1

    def count_compilation(self) -> None:
        with STATS_LOCK:
            self.compilations += 1

    def record_verified(self, error: float, *, is_amplified: bool) -> None:
        """Counts a run that was compared with the reference engine.  error: the largest relative error of its outputs."""
        with STATS_LOCK:
            self.verified_runs += 1
            self.amplified_runs += is_amplified
            self.largest_error = max(self.largest_error, error)

    def record_bailout(self, guard: str, consequence: str = "the reference engine runs the model") -> None:
        """Counts and logs a failed guard: its first failure as a warning, the others for debugging only."""
        with STATS_LOCK:
            count = self.bailouts[guard] = self.bailouts.get(guard, 0) + 1
        report = log.warning if count == 1 else log.debug
        report("guard failed: %s; %s (counted in session.stats.bailouts)", guard, consequence)

    def record_compiler_fault(self, error: CompilationError) -> None:
        """Counts and logs a failure of the compiler; `warn` will report the first one."""
        cause = error.__cause__
        where = f"{error.location}: " if error.location else ""
        text = f"{where}{error.stage}: {type(cause).__name__}: {first_line(cause)}"
        with STATS_LOCK:
            if not self.compiler_faults:
                self.unreported_fault = error
            self.compiler_faults[text] = self.compiler_faults.get(text, 0) + 1
        log.debug("the compiler failed", exc_info=cause)

    def record_compiler_faults(self, errors: Iterable[CompilationError]) -> None:
        """Counts and logs failures of the compiler."""
        for error in errors:
            self.record_compiler_fault(error)

    def warn(self, stacklevel: int) -> None:
        """Issues a CompilerWarning for the first failure of the compiler, once.

        stacklevel: of the caller's caller to whom Python attributes the warning, as for `warnings.warn`.
        """
        if self.unreported_fault is None:
            return
        with STATS_LOCK:
            error, self.unreported_fault = self.unreported_fault, None
        if error is not None:
            cause = error.__cause__
            where = f" at {error.location}" if error.location else ""
            message = (
                f"the compiler failed{where} ({error.stage}: {type(cause).__name__}: {first_line(cause)}), which is a bug in "
                "Sardonyx: please report it with the model; the reference engine does its work, more slowly (this and "
                "later failures are counted in session.stats.compiler_faults)"
            )
            warnings.warn(CompilerWarning(message), stacklevel=stacklevel + 1)

    def stats(
        self,
        *,
        fast_path_runs: int = 0,
        fallback_nodes: int = 0,
        specializations: int = 0,
        precision: Precision = EXACT,
    ) -> SessionStats:
        """The counts now, together with the given counts of native programs."""
        with STATS_LOCK:
            return SessionStats(
                runs=self.runs + fast_path_runs,
                fast_path_runs=fast_path_runs,
                bailouts=dict(self.bailouts),
                fallback_nodes=fallback_nodes,
                compiler_faults=dict(self.compiler_faults),
                programs=self.programs,
                shape_warnings=len(self.shape_reports.locations),
                specializations=specializations,
                compilations=self.compilations,
                precision=precision,
                verified_runs=self.verified_runs,
                amplified_runs=self.amplified_runs,
                largest_error=self.largest_error,
                library_kernels=self.library_kernels,
                compiled_kernels=self.compiled_kernels,
                uncached=self.uncached,
            )


def first_line(error: BaseException | None) -> str:
    """The first line of an error's message."""
    return (str(error).splitlines() or ["no message"])[0]


def reset_after_fork() -> None:
    """Replaces the lock in a forked child: another thread of the parent may have held it."""
    global STATS_LOCK
    STATS_LOCK = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=reset_after_fork)
