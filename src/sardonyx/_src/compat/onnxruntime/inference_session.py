"""InferenceSession: onnxruntime's session, executed by `sardonyx.Session`."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from sardonyx._src.arguments import require_type, texts_of
from sardonyx._src.compat.notices import note_once
from sardonyx._src.compat.onnxruntime.custom_operators import operators_of_libraries
from sardonyx._src.compat.onnxruntime.enums import ExecutionMode, GraphOptimizationLevel
from sardonyx._src.compat.onnxruntime.exceptions import Fail, InvalidArgument, loading_errors, running_errors
from sardonyx._src.compat.onnxruntime.io_binding import IOBinding
from sardonyx._src.compat.onnxruntime.library import default_seed
from sardonyx._src.compat.onnxruntime.model_changes import apply_options
from sardonyx._src.compat.onnxruntime.node_args import NodeArg
from sardonyx._src.compat.onnxruntime.node_times import measure_nodes
from sardonyx._src.compat.onnxruntime.options import RunOptions, SessionOptions
from sardonyx._src.compat.onnxruntime.ort_value import OrtValue
from sardonyx._src.compat.onnxruntime.profiling import SessionProfile
from sardonyx._src.compat.onnxruntime.providers import AVAILABLE, check_providers
from sardonyx._src.compile.program import EXACT, Precision
from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import UnsupportedProcessor
from sardonyx._src.ops.api import RunResult
from sardonyx._src.runtime.programs.precision import require_precision
from sardonyx._src.runtime.session.session import Session
from sardonyx._src.threads import start_thread

Provider: TypeAlias = "str | tuple[str, dict[str, object]]"
AsyncCallback: TypeAlias = "Callable[[list[RunResult], object, str], object]"
BF16_ENTRY = (
    "mlas.enable_gemm_fastmath_arm64_bfloat16"  # session option; "1": products may round factors to bfloat16
)
HINTS: tuple[tuple[str, object, str], ...] = (
    ("execution_mode", ExecutionMode.ORT_SEQUENTIAL, "independent nodes run one after the other"),
    ("graph_optimization_level", GraphOptimizationLevel.ORT_ENABLE_ALL, "the compiler has one level"),
    ("inter_op_num_threads", 0, "intra_op_num_threads is the number of threads"),
)


@dataclass(frozen=True, slots=True)
class ModelMetadata:
    """Metadata of a model, with onnxruntime's names."""

    producer_name: str
    graph_name: str
    domain: str
    description: str
    graph_description: str
    version: int
    custom_metadata_map: dict[str, str]


class InferenceSession:
    """A model ready to run, with the interface of onnxruntime.

    path_or_bytes: an `.onnx` file or its bytes.  Errors are those of onnxruntime, with the error of this package as their
    cause; `session` is the underlying `sardonyx.Session`.
    """

    # These are private in onnxruntime, but Optimum, Olive and insightface read them.
    _enable_fallback: bool
    _inputs_meta: list[NodeArg]
    _model_path: str | None
    _outputs_meta: list[NodeArg]
    _providers: list[str]
    _provider_options: dict[str, dict[str, str]]

    def __init__(
        self,
        path_or_bytes: str | bytes | os.PathLike[str],
        sess_options: SessionOptions | None = None,
        providers: Sequence[Provider] | None = None,
        provider_options: Sequence[dict[str, object]] | None = None,
        **kwargs: object,
    ) -> None:
        if not isinstance(path_or_bytes, str | bytes | bytearray | memoryview | os.PathLike):
            raise TypeError(f"path_or_bytes must be a path or bytes; got {type(path_or_bytes).__name__}")
        check_providers(providers)
        if sess_options is not None:
            require_type("sess_options", sess_options, SessionOptions, "a SessionOptions")
        self._options = SessionOptions() if sess_options is None else sess_options
        self._model_path = os.fspath(path_or_bytes) if isinstance(path_or_bytes, str | os.PathLike) else None
        self._enable_fallback = True
        self._providers, self._provider_options = self.get_providers(), self.get_provider_options()
        for name in kwargs:
            note_once(f"InferenceSession({name}=) has no effect")
        note_hints(self._options)
        self._profile = (
            SessionProfile(self._options.profile_file_prefix) if self._options.enable_profiling else None
        )
        start = time.perf_counter_ns()
        source, name = (path_or_bytes, str(path_or_bytes))
        if not isinstance(source, str | os.PathLike):
            source, name = bytes(source), "the bytes"
        with loading_errors(name):
            threads = self._options.intra_op_num_threads
            changed = apply_options(source, self._options)
            self.session = Session(
                changed,
                operators=operators_of_libraries(changed, self._options.custom_libraries),
                threads=threads if threads > 0 else None,
                seed=default_seed(),
                precision=chosen_precision(self._options),
                # onnxruntime does not compare sizes of one name: Optimum feeds two lengths for one variable of T5.
                shapes="warn",
            )
        if self._profile is not None:
            self._profile.add("model_loading", start)
        required = [value for value in self.session.inputs if not value.has_default]
        self._inputs_meta = [NodeArg.of(value) for value in required]
        self._outputs_meta = [NodeArg.of(value) for value in self.session.outputs]
        self._output_names = frozenset(arg.name for arg in self._outputs_meta)
        self._required = frozenset(
            arg.name for arg in self._inputs_meta if not arg.type.startswith("optional(")
        )

    # --- what the model is ---------------------------------------------------------------------

    def get_inputs(self) -> list[NodeArg]:
        """The inputs that have no initializer."""
        return list(self._inputs_meta)

    def get_outputs(self) -> list[NodeArg]:
        return list(self._outputs_meta)

    def get_overridable_initializers(self) -> list[NodeArg]:
        """The initializers that are inputs as well: feeds may replace them."""
        return [NodeArg.of(value) for value in self.session.inputs if value.has_default]

    def get_modelmeta(self) -> ModelMetadata:
        model = self.session.model
        return ModelMetadata(
            model.producer_name,
            model.graph.name,
            model.domain,
            model.doc,
            model.graph.doc,
            model.model_version or 0,
            dict(model.metadata),
        )

    def get_session_options(self) -> SessionOptions:
        return self._options

    # --- providers -----------------------------------------------------------------------------

    def get_providers(self) -> list[str]:
        return list(AVAILABLE)

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        return {name: {} for name in AVAILABLE}

    def set_providers(
        self,
        providers: Sequence[Provider] | None = None,
        provider_options: Sequence[dict[str, object]] | None = None,
    ) -> None:
        check_providers(providers)

    def enable_fallback(self) -> None:
        """No effect: there is one provider."""
        self._enable_fallback = True

    def disable_fallback(self) -> None:
        """No effect: there is one provider."""
        self._enable_fallback = False

    # --- runs ----------------------------------------------------------------------------------

    def run(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, object],
        run_options: RunOptions | None = None,
    ) -> list[RunResult]:
        """The outputs in the order of `output_names`; None or []: all of them."""
        names = [] if output_names is None else list(texts_of("output_names", output_names))
        require_type("input_feed", input_feed, Mapping, "a dict from input names to values")
        if run_options is not None:
            require_type("run_options", run_options, RunOptions, "a RunOptions")
        self._require_inputs(input_feed)
        for name in names:
            if name not in self._output_names:
                raise InvalidArgument.of(f"the model has no output {name!r}")
        feeds = {
            name: value.value() if isinstance(value, OrtValue) else value
            for name, value in input_feed.items()
        }
        start = time.perf_counter_ns()
        token = run_options.token if run_options is not None else None
        with running_errors():
            results = self.session.run(feeds, names or None, cancellation=token)
        if self._profile is not None:
            self._profile.add("model_run", start)
            self._profile.last_run = start, feeds
        return [results[name] for name in names] if names else list(results.values())

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """`run` with OrtValues as feeds and results."""
        return [OrtValue(value) for value in self.run(output_names, input_dict_ort_values, run_options)]

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """Runs the model with the inputs of `iobinding`, which keeps the results."""
        require_type("iobinding", iobinding, IOBinding, "an IOBinding")
        names = iobinding.names()
        iobinding.store(dict(zip(names, self.run(names, iobinding.feeds(), run_options), strict=True)))

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Mapping[str, object],
        callback: AsyncCallback,
        user_data: object,
        run_options: RunOptions | None = None,
    ) -> None:
        """Runs the model in another thread, which then calls `callback(results, user_data, message)`.

        The message is "" on success.
        """
        if not callable(callback):
            raise TypeError(f"callback must be a function; got {type(callback).__name__}")

        def execute() -> None:
            results: list[RunResult] = []
            message = ""
            try:
                results = self.run(output_names, input_feed, run_options)
            except Exception as error:  # noqa: BLE001  # the callback gets it
                message = str(error)
            callback(results, user_data, message)

        start_thread(threading.Thread(target=execute, name="sardonyx-run-async", daemon=True))

    def io_binding(self) -> IOBinding:
        return IOBinding(self)

    def _require_inputs(self, feeds: Mapping[str, object]) -> None:
        missing = sorted(self._required - feeds.keys())
        if missing:
            raise ValueError(f"the feeds must have the inputs {missing}; got {list(feeds)}")

    # --- profiles ------------------------------------------------------------------------------

    def get_profiling_start_time_ns(self) -> int:
        """The clock's nanoseconds when the profile began; 0 without one."""
        return self._profile.start_ns if self._profile is not None else 0

    def end_profiling(self) -> str:
        """Writes the profile of the session and of its runs so far; returns the file's name.

        The times of nodes are measured now, by more runs on one thread with the feeds of the last run.  Nodes that one kernel
        computes are one event.  Sessions on the reference engine have no events of nodes.
        """
        if self._profile is None:
            raise Fail.of(
                "the session has no profile: set SessionOptions.enable_profiling before it is opened"
            )
        profile, self._profile = self._profile, None
        if profile.last_run is not None:
            profile.add_nodes(measure_nodes(self.session, profile.last_run[1]))
        return profile.write()


def note_hints(options: SessionOptions) -> None:
    """Logs which options have no effect here."""
    for name, default, why in HINTS:
        if getattr(options, name) != default:
            note_once(f"SessionOptions.{name} has no effect: {why}")
    for key in options.config_entries:
        if key != BF16_ENTRY:
            note_once(f"the session configuration entry {key!r} has no effect")


def chosen_precision(options: SessionOptions) -> Precision:
    """The precision of products that the options request, if this processor supports it."""
    if options.config_entries.get(BF16_ENTRY, "0") != "1":
        return EXACT
    try:
        require_precision("bf16")
    except UnsupportedProcessor as refusal:
        note_once(f"the session configuration entry {BF16_ENTRY!r} has no effect: {refusal}")
        return EXACT
    return "bf16"
