"""Compilation of a specialized program in rounds: each round is compiled for what a run of the program before observed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.compile.program.steps.assumptions import Assumptions, BranchTaken, format_assumptions
from sardonyx._src.compile.program.verification.defects import typed_defects
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import EvaluationError
from sardonyx._src.interp.run_control import RunControl
from sardonyx._src.interp.run_state import RandomSource
from sardonyx._src.ops.run_values import RunLimits, RuntimeValue
from sardonyx._src.runtime.limits.run_limits import Bailout
from sardonyx._src.runtime.programs.async_compilation import async_compilation
from sardonyx._src.runtime.programs.stats import RunCounters
from sardonyx._src.runtime.runs.native_program import NativeProgram
from sardonyx._src.runtime.specialization.program import Observed, take_conditions
from sardonyx._src.runtime.specialization.shared import Specializations

MAX_ROUNDS = 8  # depth of nested branches: one inside another is observed only once the outer one was inlined
Compiler = Callable[[Assumptions], Executable]
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RoundCompiler:
    """Compiles the model of a general program for assumptions, and adds the result to the shared programs.

    compiler: compiles the model for assumptions.
    shared: the specialized programs of the model.
    threads: the number of threads of a program; None for the default.
    """

    compiler: Compiler
    shared: Specializations
    threads: int | None
    counters: RunCounters

    def compile(
        self,
        observed: Observed,
        feeds: Mapping[str, RuntimeValue],
        limits: RunLimits,
        control: RunControl,
    ) -> None:
        """Compiles a program for observations, and again for the observations of its run, until a run observes nothing new."""
        assumptions: Assumptions = ()
        while observed and len(assumptions) < MAX_ROUNDS:
            assumptions = (*assumptions, relevant_assumptions(observed))
            with typed_defects("specialize"), async_compilation():
                self.counters.count_compilation()
                executable = self.compiler(assumptions)
                if self.shared.store is not None:
                    self.shared.store.reuse_weights(executable.program)
                native = NativeProgram(executable, self.threads, self.counters)
            observed = observe(native, feeds, limits, control)
        if assumptions not in self.shared.programs:
            self.shared.put(assumptions, executable)
        log.info("a program is specialized: %s", format_assumptions(assumptions))


def relevant_assumptions(observed: Observed) -> Observed:
    """The observed branches, since most ranks follow from them; all observations if no branch was observed."""
    return frozenset(a for a in observed if isinstance(a, BranchTaken)) or observed


def observe(
    native: NativeProgram, feeds: Mapping[str, RuntimeValue], limits: RunLimits, control: RunControl
) -> Observed:
    """The observations of a run of a program; none if it fails.  The outputs are dropped."""
    if not native.observations:
        return frozenset()
    try:
        outputs = native.run(feeds, limits, RandomSource(0), control)
    except (Bailout, EvaluationError):
        return frozenset()
    finally:
        native.release_contexts()
    return frozenset() if take_conditions(native, outputs) else native.observed
