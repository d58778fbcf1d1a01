"""Opens a session: everything that its runs need, made in one function from its arguments."""

from __future__ import annotations

from pathlib import Path

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import are_defects_fatal, typed_memory_errors
from sardonyx._src.io.garbage_collection import pause_gc, promote_young_objects
from sardonyx._src.io.loading.model_sources import ModelSource
from sardonyx._src.ops.run_values import RunLimits
from sardonyx._src.runtime.declarations.declared_sizes import Declaration, declarations_of
from sardonyx._src.runtime.limits.memory_limits import limits_of_process
from sardonyx._src.runtime.programs.stats import RunCounters
from sardonyx._src.runtime.session.engine_opening import EngineOpener
from sardonyx._src.runtime.session.run_dispatch import RunDispatch, Runner
from sardonyx._src.runtime.session.session_origin import Engine, SessionOrigin


@dataclass(frozen=True, slots=True)
class OpenedSession:
    """The parts of a session.

    limits: the limits of a run, those of the process included.
    runner: the engine; dispatch: what chooses between the engines for a run.
    inputs, outputs: the declarations of the model by name.
    """

    origin: SessionOrigin
    limits: RunLimits
    counters: RunCounters
    runner: Runner
    dispatch: RunDispatch
    inputs: dict[str, Declaration]
    outputs: dict[str, Declaration]


def open_session(
    source: ModelSource, engine: Engine, origin: SessionOrigin, saved: Path | None
) -> OpenedSession:
    """The parts of a session with these arguments.  saved: the path of a compiled program, if the source is one.

    Raises what `Session` raises of a valid combination of arguments.
    """
    limits = limits_of_process(origin.limits or RunLimits())
    counters = RunCounters(tolerates_faults=engine == "auto" and not are_defects_fatal(), start=origin.start)
    with typed_memory_errors("open the session"), pause_gc() as was_enabled:
        opened = EngineOpener(origin, engine, limits, counters).open(source, saved)
        if was_enabled:
            promote_young_objects()
    return OpenedSession(
        origin,
        limits,
        counters,
        opened.runner,
        RunDispatch(opened, origin.shapes, saved, counters.shape_reports),
        declarations_of(opened.interface.graph.inputs, "input"),
        declarations_of(opened.interface.graph.outputs, "result"),
    )
