"""Opens the engine of a session: a saved program, a cached one, a newly compiled one, or the reference engine."""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from sardonyx._src.compile.program import EXACT
from sardonyx._src.compile.program.steps.program import Action, FallbackOp
from sardonyx._src.compile.program.verification.defects import typed_defects
from sardonyx._src.errors import CompilationError, LimitError, MissingPackage, SardonyxError
from sardonyx._src.grad.runnable import without_gradient_nodes
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.io.external import verify_checksums
from sardonyx._src.io.file_stamps import BytesStamp, FileStamp
from sardonyx._src.io.loading.load import ModelSource, load
from sardonyx._src.io.loading.operator_set_path import environment_folders
from sardonyx._src.ir import Model
from sardonyx._src.ir.walk import model_tensors
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.engine.lazy_model import LazyModel
from sardonyx._src.runtime.identity.model_stamps import ModelStamp, stamp_model, stamp_source
from sardonyx._src.runtime.programs.stats import RunCounters
from sardonyx._src.runtime.saved_programs.disk_cache import make_native_engine, open_cached_engine
from sardonyx._src.runtime.session.session_origin import Engine, SessionOrigin

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpenedModel:
    """The engine of a session (`runner`) and the model that it runs.

    interface: the model, or a model that has only the same inputs and outputs.
    """

    runner: Interpreter | NativeEngine
    source: Model | LazyModel
    interface: Model


class SessionOpener:
    """Opens one session.

    origin: the arguments of the session.
    engine: the requested engine.
    limits: the limits of a run, those of the process included.
    """

    def __init__(
        self, origin: SessionOrigin, engine: Engine, limits: RunLimits, counters: RunCounters
    ) -> None:
        self.origin, self.engine, self.limits, self.counters = origin, engine, limits, counters

    def open(self, source: ModelSource, saved: Path | None) -> OpenedModel:
        """The engine for a model; it verifies its runs if the session requests that.

        saved: the path of a compiled program, if the source is one.
        """
        opened = self.open_engine(source, saved)
        if isinstance(opened.runner, NativeEngine):
            log_fallback_ops(opened.runner.native.program.actions)
        if self.origin.verify != "off" and isinstance(opened.runner, NativeEngine):
            from sardonyx._src.runtime.verification.verified_programs import (
                verify_runs,  # lazy: few sessions verify
            )

            verify_runs(opened.runner, self.origin.verify)
        return opened

    def open_engine(self, source: ModelSource, saved: Path | None) -> OpenedModel:
        """`open` without verification and log messages."""
        origin = self.origin
        is_changed = origin.operators or origin.operator_sets or environment_folders()
        stamp = None if saved or is_changed else stamp_source(source)
        compiled = self.open_compiled(source, saved, stamp)
        if compiled is not None:
            return OpenedModel(compiled, compiled.source, compiled.interface)
        stored = load(
            source,
            policy=origin.policy,
            operator_sets=origin.operator_sets,
            verify_checksums=origin.verify_checksums,
        )
        if origin.operators:
            from sardonyx._src.build.session_operators import with_operators  # lazy: few sessions have any

            stored = with_operators(stored, origin.operators)
        verify_checksums(model_tensors(stored))
        model = without_gradient_nodes(stored)
        is_unchanged = isinstance(source, bytes) or stamp == stamp_source(source)
        has_stamp = is_unchanged and model is stored
        model_stamp = stamp_model(stamp, stored) if stamp is not None and has_stamp else None
        return OpenedModel(self.make_engine(model, model_stamp), model, model)

    def open_compiled(
        self, source: ModelSource, saved: Path | None, stamp: FileStamp | BytesStamp | None
    ) -> NativeEngine | None:
        """The engine of a program that is compiled already, in a `.sdx` file or an entry of the cache; None if there is none."""
        origin = self.origin
        if saved is not None:
            from sardonyx._src.runtime.saved_programs.saved_engine import (
                SavedEngine,  # lazy: most sessions need none
            )

            with typed_defects("open a saved program"):
                engine = SavedEngine(
                    saved,
                    threads=origin.threads,
                    limits=self.limits,
                    seed=origin.seed,
                    counters=self.counters,
                )
            if origin.precision not in (EXACT, engine.precision):
                what = f"{saved} must be compiled with precision={origin.precision!r}"
                raise SardonyxError(f"{what}; got a program with precision={engine.precision!r}")
            return engine
        if stamp is None or self.engine == "reference":
            return None
        return open_cached_engine(
            source if isinstance(source, bytes) else Path(cast("str | os.PathLike[str]", source)),
            stamp,
            threads=origin.threads,
            limits=self.limits,
            seed=origin.seed,
            counters=self.counters,
            precision=origin.precision,
        )

    def make_engine(self, model: Model, stamp: ModelStamp | None) -> Interpreter | NativeEngine:
        """The engine for a model; under "auto", the reference engine if the model cannot be compiled."""
        origin = self.origin
        try:
            if self.engine != "reference":
                with typed_defects("compile", OSError, ImportError):
                    return make_native_engine(
                        model,
                        threads=origin.threads,
                        limits=self.limits,
                        seed=origin.seed,
                        stamp=stamp,
                        counters=self.counters,
                        precision=origin.precision,
                    )
        except SardonyxError as error:
            if self.engine == "native":
                raise
            self.log_fallback(error)
        return Interpreter(model, limits=self.limits, seed=origin.seed)

    def log_fallback(self, error: SardonyxError) -> None:
        """Counts or logs the reason why the reference engine runs the model."""
        if isinstance(error, LimitError) and error.limit == "sys.setrecursionlimit":
            error = CompilationError.of(error, stage="compile")
        if isinstance(error, CompilationError):
            self.counters.record_compiler_fault(error)
        else:
            level = logging.WARNING if isinstance(error, MissingPackage) else logging.INFO
            log.log(level, "the reference engine runs the model: %s", error)


def log_fallback_ops(actions: Iterable[Action]) -> None:
    """Logs which nodes of a program run as reference kernels, if there are any."""
    types = Counter(action.node.op_type for action in actions if isinstance(action, FallbackOp))
    if types:
        names = ", ".join(f"{count} {name}" for name, count in types.most_common())
        message = (
            "nodes that have no native kernel run on the reference engine: %s (session.stats.fallback_nodes)"
        )
        log.info(message, names)
