"""Statistics of a session: its runs, the guards that failed, and the faults of the compiler.

Runs on the fast path are counted in the execution context that runs them, without a lock; `RunCounters` counts the rest.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass

from sardonyx._src.runtime.shape_policy import ShapeReports

log = logging.getLogger(__name__)
STATS_LOCK = threading.Lock()


@dataclass(frozen=True, slots=True)
class SessionStats:
    """What a session has done so far.

    runs: calls of `Session.run` whose feeds passed the checks.  fast_path_runs: those of them that repeated an earlier
    run's shapes in native code alone.  bailouts: how often each guard of a compiled program failed, so that the reference
    engine repeated the run (or interpreted the subgraph, where the name says so).  fallback_nodes: nodes of the program
    that run as reference kernels; 0 for the reference engine, which has no program.  compiler_faults: failed assertions of
    the compiler.  programs: compiled programs, specializations of subgraphs included.  shape_warnings: places of which a
    ShapeWarning has said that a size contradicts the model's declaration.
    """

    runs: int
    fast_path_runs: int
    bailouts: Mapping[str, int]
    fallback_nodes: int
    compiler_faults: int
    programs: int
    shape_warnings: int = 0


class RunCounters:
    """The counters of one session, shared by all of its programs; threads may count at the same time.

    tolerates_faults: whether a model or subgraph whose compilation fails an assertion runs on the reference engine.
    """

    def __init__(self, *, tolerates_faults: bool = False) -> None:
        self.tolerates_faults = tolerates_faults
        self.runs = self.programs = self.compiler_faults = 0
        self.bailouts: dict[str, int] = {}
        self.shape_reports = ShapeReports()

    def count_run(self) -> None:
        with STATS_LOCK:
            self.runs += 1

    def count_program(self) -> None:
        with STATS_LOCK:
            self.programs += 1

    def record_bailout(self, guard: str, consequence: str = "the reference engine repeats the run") -> None:
        """Counts and logs a failed guard: its first failure as a warning, the others for debugging only."""
        with STATS_LOCK:
            count = self.bailouts[guard] = self.bailouts.get(guard, 0) + 1
        level = logging.WARNING if count == 1 else logging.DEBUG
        log.log(level, "guard failed: %s; %s (counted in session.stats.bailouts)", guard, consequence)

    def record_compiler_fault(self, error: AssertionError) -> None:
        """Counts and logs a failed assertion of the compiler."""
        with STATS_LOCK:
            self.compiler_faults += 1
        lines = str(error).splitlines() or ["assertion failed"]
        log.warning(
            "the compiler failed, which is a bug in Sardonyx: please report it with the model (%s); "
            "the reference engine runs instead",
            lines[0],
        )
        log.debug("the failed assertion", exc_info=error)

    def stats(self, *, fast_path_runs: int = 0, fallback_nodes: int = 0) -> SessionStats:
        """The counts now, with those that a native program has."""
        with STATS_LOCK:
            return SessionStats(
                runs=self.runs + fast_path_runs,
                fast_path_runs=fast_path_runs,
                bailouts=dict(self.bailouts),
                fallback_nodes=fallback_nodes,
                compiler_faults=self.compiler_faults,
                programs=self.programs,
                shape_warnings=len(self.shape_reports.places),
            )


def reset_after_fork() -> None:
    """Replaces the lock in a forked child: another thread of the parent may have held it."""
    global STATS_LOCK
    STATS_LOCK = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=reset_after_fork)
