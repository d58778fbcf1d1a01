"""Opens the engine of a session: a saved program, a cached one, a newly compiled one, or the reference engine."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, cast

from sardonyx._src.compile.llvm.host_target import require_stated_class
from sardonyx._src.compile.llvm.kernel_origin import interpreting_kernels, kernels_from
from sardonyx._src.compile.program import EXACT
from sardonyx._src.compile.program.steps.program import Action, FallbackOp
from sardonyx._src.compile.program.verification.defects import typed_defects
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import CompilationError, DecodeError, LimitError, MissingPackage, SardonyxError
from sardonyx._src.grad.runnable import without_gradient_nodes
from sardonyx._src.io.external import verify_checksums
from sardonyx._src.io.loading.environment import environment_folders
from sardonyx._src.io.loading.model_sources import DecoderEdit, ModelSource, edit_of
from sardonyx._src.ir import Model
from sardonyx._src.ir.walk import model_tensors
from sardonyx._src.logs import get_logger
from sardonyx._src.ops.run_values import RunLimits
from sardonyx._src.phases import phase
from sardonyx._src.runtime.engine.engine import EngineOptions, NativeEngine
from sardonyx._src.runtime.engine.lazy_model import LazyModel
from sardonyx._src.runtime.identity.model_stamps import ModelStamp, ProgramKey, stamp_model, stamp_source
from sardonyx._src.runtime.programs.stats import RunCounters
from sardonyx._src.runtime.saved_programs.disk_cache import compile_engine, open_cached_engine
from sardonyx._src.runtime.session.session_origin import Engine, SessionOrigin

if TYPE_CHECKING:
    from sardonyx._src.interp.interpreter import Interpreter


log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class OpenedModel:
    """The engine of a session (`runner`) and the model that it runs.

    interface: the model, or a model that has only the same inputs and outputs.
    """

    runner: Interpreter | NativeEngine
    source: Model | LazyModel
    interface: Model


class EngineOpener:
    """Opens the engine of one session, and decides whether its program is read from a file or compiled.

    origin: the arguments of the session.
    engine: the requested engine.
    options: the keywords of the engine.
    counters: the counters of the session.
    """

    def __init__(
        self, origin: SessionOrigin, engine: Engine, limits: RunLimits, counters: RunCounters
    ) -> None:
        """limits: the limits of a run, those of the process included."""
        self.origin, self.engine, self.counters = origin, engine, counters
        self.options = EngineOptions(
            threads=origin.threads, limits=limits, seed=origin.seed, counters=counters
        )

    def open(self, source: ModelSource, saved: Path | None) -> OpenedModel:
        """The engine for a model; it verifies its runs if the session requests that.

        saved: the path of a compiled program, if the source is one.
        """
        with kernels_from(self.origin.start), interpreting_kernels():
            opened = self.open_model(source) if saved is None else self.open_saved(saved)
        if isinstance(opened.runner, NativeEngine):
            log_fallback_ops(opened.runner.native.program.actions)
        if self.origin.verify != "off" and isinstance(opened.runner, NativeEngine):
            # Lazy: few sessions verify.
            from sardonyx._src.runtime.verification.verified_programs import verify_runs

            verify_runs(opened.runner, self.origin.verify)
        return opened

    def open_saved(self, path: Path) -> OpenedModel:
        """The program in a `.sdx` file; raises SardonyxError if it has another precision than requested."""
        # Lazy: most sessions need none.
        from sardonyx._src.runtime.saved_programs.saved_engine import SavedEngine

        with typed_defects("open a saved program"):
            engine = SavedEngine(path, **self.options)
        if self.origin.precision not in (EXACT, engine.precision):
            what = f"{path} must be compiled with precision={self.origin.precision!r}"
            raise SardonyxError(f"{what}; got a program with precision={engine.precision!r}")
        return OpenedModel(engine, engine.source, engine.interface)

    def open_model(self, source: ModelSource) -> OpenedModel:
        """The cached program of a file or of bytes, whose model is not decoded; else the engine for the loaded model."""
        origin = self.origin
        is_changed = origin.operators or origin.operator_sets or environment_folders()
        stamp = None if is_changed else stamp_source(source)
        if stamp is not None and self.engine != "reference":
            encoded = source if isinstance(source, bytes) else Path(cast("str | os.PathLike[str]", source))
            key = ProgramKey(stamp, origin.precision, origin.start, edit_of(source))
            cached = open_cached_engine(key, encoded, self.options)
            if cached is not None:
                return OpenedModel(cached, cached.source, cached.interface)
        loaded = self.load(source)
        stored = edit_model(loaded, edit_of(source))
        edit = None if stored is loaded else edit_of(source)
        model = without_gradient_nodes(stored)
        is_unchanged = isinstance(source, bytes) or stamp == stamp_source(source)
        has_stamp = is_unchanged and model is stored
        model_stamp = stamp_model(stamp, stored) if stamp is not None and has_stamp else None
        runner = self.open_loaded(model, model_stamp, edit)
        if isinstance(runner, NativeEngine):
            # Lazy: cached programs need no library.
            from sardonyx._src.runtime.kernel_library.background import request_library

            request_library()
        return OpenedModel(runner, model, model)

    @phase("load")
    def load(self, source: ModelSource) -> Model:
        """The model with the operators of the session, and with verified checksums."""
        from sardonyx._src.io.loading.load import load  # lazy: cached programs need no model

        origin = self.origin
        model = load(
            source,
            policy=origin.policy,
            operator_sets=origin.operator_sets,
            verify_checksums=origin.verify_checksums,
        )
        if origin.operators:
            from sardonyx._src.build.session_operators import with_operators  # lazy: few sessions have any

            model = with_operators(model, origin.operators)
        verify_checksums(model_tensors(model))
        return model

    def open_loaded(
        self, model: Model, stamp: ModelStamp | None, edit: DecoderEdit | None = None
    ) -> Interpreter | NativeEngine:
        """The engine for a model; under "auto", the reference engine if the model cannot be compiled.

        stamp: the stamp of the files that contain all data of the model; None if there are none.
        edit: as of `NativeEngine`.
        Raises InputError and UnsupportedProcessor for a wrong `SARDONYX_TARGET`, unless the engine is "reference".
        """
        if self.engine != "reference":
            require_stated_class()
        try:
            if self.engine != "reference":
                with typed_defects("compile", OSError, ImportError):
                    precision, start = self.origin.precision, self.origin.start
                    key = None if stamp is None else ProgramKey(stamp, precision, start, edit)
                    cached = None if key is None else open_cached_engine(key, model, self.options)
                    return cached or compile_engine(model, stamp, precision, self.options, edit)
        except SardonyxError as error:
            if self.engine == "native":
                raise
            self.log_fallback(error)
        from sardonyx._src.interp.interpreter import Interpreter  # lazy: few models need it

        return Interpreter(model, limits=self.options["limits"], seed=self.origin.seed)

    def log_fallback(self, error: SardonyxError) -> None:
        """Counts or logs the reason why the reference engine runs the model."""
        if isinstance(error, LimitError) and error.limit == "sys.setrecursionlimit":
            error = CompilationError.of(error, stage="compile")
        if isinstance(error, CompilationError):
            self.counters.record_compiler_fault(error)
        else:
            report = log.warning if isinstance(error, MissingPackage | DecodeError) else log.info
            report("the reference engine runs the model: %s", error)


def edit_model(model: Model, edit: DecoderEdit | None) -> Model:
    """The model as a generator runs it; the model itself if nothing of it changes."""
    if edit is None:
        return model
    from sardonyx._src.rewrite.decoder_edit import edit_decoder  # lazy: only decoders

    return edit_decoder(model, edit)


def log_fallback_ops(actions: Iterable[Action]) -> None:
    """Logs which nodes of a program run as reference kernels, if there are any."""
    types = Counter(action.node.op_type for action in actions if isinstance(action, FallbackOp))
    if types:
        names = ", ".join(f"{count} {name}" for name, count in types.most_common())
        message = (
            "nodes that have no native kernel run on the reference engine: %s (session.stats.fallback_nodes)"
        )
        log.info(message, names)
