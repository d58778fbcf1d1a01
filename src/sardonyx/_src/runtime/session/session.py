"""Sessions: a model, compiled or interpreted, that runs any number of times."""

from __future__ import annotations

import gc
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypedDict, Unpack

import numpy as np

from sardonyx._src.arguments import require_choice, require_integer, require_mapping, require_type
from sardonyx._src.compile.llvm.kernel_origin import Start
from sardonyx._src.compile.program import EXACT, Precision
from sardonyx._src.errors import InputError, SardonyxError, typed_memory_errors
from sardonyx._src.formatters import format_html
from sardonyx._src.interp.run_control import CancellationToken, RunControl
from sardonyx._src.io.external import Policy
from sardonyx._src.io.external.opening import policy_of
from sardonyx._src.io.loading.environment import sources_of
from sardonyx._src.io.loading.model_sources import ModelSource
from sardonyx._src.io.memory_release import trim_heap
from sardonyx._src.ir import Model, Node
from sardonyx._src.ops.run_values import RunLimits, RunResult, RuntimeValue, is_number
from sardonyx._src.runtime.declarations.shape_policy import ShapePolicy
from sardonyx._src.runtime.engine.engine import NativeEngine
from sardonyx._src.runtime.engine.lazy_model import LazyModel
from sardonyx._src.runtime.feeds.feeds import CASTS, Cast, check_feeds
from sardonyx._src.runtime.programs.stats import SessionStats
from sardonyx._src.runtime.results.output_arrays import OutputArrays, check_output_arrays
from sardonyx._src.runtime.results.results import check_results, copy_if_read_only, select_outputs
from sardonyx._src.runtime.session.async_runs import submit, wait_for
from sardonyx._src.runtime.session.calling_conventions import refuse_other_convention
from sardonyx._src.runtime.session.closed_session import ClosedSession
from sardonyx._src.runtime.session.run_dispatch import Runner
from sardonyx._src.runtime.session.session_opening import open_session
from sardonyx._src.runtime.session.session_origin import (
    ENGINES,
    Engine,
    Functions,
    SessionOrigin,
    check_options,
    has_definitions,
    path_of,
    saved_program_path,
)
from sardonyx._src.runtime.session.session_values import SessionValue
from sardonyx._src.runtime.verification.modes import Verify

if TYPE_CHECKING:
    from concurrent.futures import Future

    from sardonyx._src.io.loading.operator_sets import OperatorSetSource
    from sardonyx._src.runtime.programs.memory_report import MemoryReport

__all__ = ["ENGINES", "Engine", "Session", "SessionValue"]


class RunKeywords(TypedDict, total=False):
    """The keywords of `Session.run`, which explains them."""

    timeout: float | None
    cancellation: CancellationToken | None
    out: OutputArrays | None
    cast: Cast


# Size of a model from which its release is worth a garbage collection, which stops all threads for some 10 ms.
MIN_COLLECTED_BYTES = 1 << 20


class Session:
    """A model ready to run.

    source: a model, its bytes, or the path of its file.  A path that ends in `.sdx` is a program written by `sardonyx
        compile`, which the native engine runs; the `model` of such a session has only inputs and outputs.
    engine: "native" compiles the model; "reference" runs every operator as the specification words it, in NumPy;
        "auto" uses the native engine for every model that can be compiled.  The attribute `engine` says which one runs.
    threads: the number of threads of the native engine (NumPy decides for the reference engine).
    seed: an integer that makes random operators without a seed attribute repeatable.
    limits: bounds on what a run may use.
    policy, operator_sets, verify_checksums: as of `sx.load`, which loads the model; stated checksums are verified when the
        session opens.
    shapes: the shape policy, see below.
    operators: functions that `sx.operator` decorates.  This session uses them even if others are registered for the same
        operators; the domain of their nodes in `session.model` ends in a number.
    precision: "bf16" rounds the factors of products to bfloat16, see below.
    verify: "first" or "every" compares runs with the reference engine, see below.
    start: "library" begins with the kernels that the package's library for the class of the processor has; "compiled"
        waits until LLVM has compiled every kernel, see below.

    `shapes` decides what happens where a size differs from the one that the model declares, as is common in practice.
    - "inputs": a fed tensor must have the declared sizes, and agree with others about dimension variables (InputError).  A
      mismatch in an output, a value inside the model, an argument or result of a subgraph, or among the elements of a
      sequence is a `ShapeWarning`, once for each location and at most five in a run, and the run continues.
    - "strict": every mismatch is an error: InputError for feeds, OutputError for the rest.
    - "warn": as "inputs", but inputs that disagree about a variable are warnings, too.
    - "off": sizes are not compared; element types and ranks are.
    Under every policy, element types and the ranks of feeds are checked.  The reference engine compares all values inside
    the model.  The native engine reports the declarations that no run can satisfy according to type inference.  The
    reference engine executes runs with inputs that contradict declared sizes, because compiled programs rely on them, and
    under "strict" all runs of a model with a declaration that cannot be proved (`stats.bailouts` counts both).  A `.sdx` file
    has no reference engine: such a run raises EvaluationError, and opening such a file under "strict" raises SardonyxError.

    `precision="bf16"` rounds the factors of float32 products by constant weights (MatMul, Gemm, Conv) to bfloat16, which
    processors with such products multiply several times as fast; sums and all other operators stay in float32.  A sum of n
    products then differs from the float32 sum by at most 2**-7 of the sum of their magnitudes, and in practice by about
    2**-8 of that sum divided by the square root of n.  Raises UnsupportedProcessor on a processor without products of
    bfloat16.  A `.sdx` file has the precision that it was compiled with.  The reference engine does not round;
    `session.precision` is the precision in effect.

    `verify` helps where a result looks wrong.  "first" also executes the first run of each set of sizes on the reference
    engine.  Where outputs differ by more than rounding explains, it raises VerificationError, which names the first node
    that computes a wrong value, and its step.  Later runs of these sizes are as fast as without it.  "every" verifies every
    run.  A model that amplifies rounding errors passes if every step is right for its inputs (`stats.amplified_runs` counts
    such runs).  Of random values only element types and ranks are compared.

    A session that starts from the library compiles only kernels that the library lacks, and these at once: its first run is
    as fast as any later one, until branches or ranks of runs lead to a specialized program, to which it changes between two
    runs.  `start="compiled"` uses no code of the library, nor cached programs with such code, which it replaces: for
    measurements of this machine's compiler.  Results have the same bits.  `stats.stage` says what a session runs.  The kernels
    of a `.sdx` file are those with which it was written.

    Several threads may run one session at the same time, and so may forked children.  Sessions of one unchanged file,
    or of models with equal content, share compiled programs and weights.  The native engine also caches the programs
    of files and bytes for the next process, in the folder `SARDONYX_CACHE` or else the user's cache folder; an empty
    `SARDONYX_CACHE` disables the cache, and `SARDONYX_CACHE_BYTES` limits it.  A pickled session consists of the path of
    its model, or of the model if it did not come from a file; unpickling opens a new session, and its random numbers start
    at the seed again.

    Under "auto", a node or model that the compiler fails at because of a defect runs on the reference engine: a session
    issues one CompilerWarning, and `stats.compiler_faults` counts all failures.  Under "native", a defect raises
    CompilationError.

    Raises what `load` raises; UnsupportedOperator, naming the node, for an operator that cannot be run; and
    MissingPackage for `engine="native"` where nothing can be compiled because llvmlite is not installed.
    """

    def __init__(
        self,
        source: ModelSource,
        *,
        engine: Engine = "auto",
        threads: int | None = None,
        seed: int | None = None,
        limits: RunLimits | None = None,
        policy: Policy | str = Policy.HUB,
        operator_sets: Iterable[OperatorSetSource] = (),
        verify_checksums: bool = True,
        shapes: ShapePolicy = "inputs",
        operators: Functions = (),
        precision: Precision = EXACT,
        verify: Verify = "off",
        start: Start = "library",
    ) -> None:
        check_options(engine, shapes, threads, limits, verify_checksums, precision, verify, start)
        saved = saved_program_path(source, engine, verify, has_operators=has_definitions(operators))
        origin = SessionOrigin(
            path_of(source),
            threads=threads,
            seed=seed,
            limits=limits,
            policy=policy_of(policy),
            operator_sets=sources_of(operator_sets),
            verify_checksums=verify_checksums,
            shapes=shapes,
            operators=tuple(operators),
            precision=precision,
            verify=verify,
            start=start,
        )
        opened = open_session(source, engine, origin, saved)
        self._origin, self._counters, self._limits = opened.origin, opened.counters, opened.limits
        self._dispatch, self._inputs, self._outputs = opened.dispatch, opened.inputs, opened.outputs
        self._runner: Runner = opened.runner
        self.engine: Engine = "native" if isinstance(opened.runner, NativeEngine) else "reference"
        self._try_run = opened.runner.try_run if isinstance(opened.runner, NativeEngine) else None
        self._is_timed = opened.limits.seconds != math.inf
        self._counters.warn(stacklevel=2)

    @property
    def model(self) -> Model:
        """The model.  The model of a cached program is decoded when this property is first read."""
        return self._dispatch.model

    @property
    def precision(self) -> Precision:
        """The precision of products: "float32", or "bf16" if a compiled program rounds their factors."""
        return self.stats.precision

    @property
    def shapes(self) -> ShapePolicy:
        """What the session does where a size differs from the one that the model declares."""
        return self._dispatch.shapes

    @property
    def in_place(self) -> Mapping[str, str]:
        """The outputs that are proved to be an input with some elements replaced, and the input: see `out` of `run`."""
        return self._runner.native.program.in_place if isinstance(self._runner, NativeEngine) else {}

    @property
    def stats(self) -> SessionStats:
        """Counts of the runs so far, and of events that made them slower than native code: see `SessionStats`."""
        if isinstance(self._runner, NativeEngine):
            return self._runner.stats()
        return self._runner.stats if isinstance(self._runner, ClosedSession) else self._counters.stats()

    def close(self) -> None:
        """Frees the memory of runs and the packed weights; later runs raise an error, and runs under way complete.

        A session without references closes itself.
        """
        self._try_run, self._runner = None, ClosedSession(self.stats)

    def _repr_html_(self) -> str:
        """The object as a table, in notebooks."""
        return format_html(self)

    def __repr__(self) -> str:
        """`<Session: x: float[N,2] -> y: float[N,2], engine native>`."""
        inputs, outputs = (", ".join(map(repr, values)) for values in (self.inputs, self.outputs))
        precision = "" if self.precision == EXACT else f", precision {self.precision}"
        return f"<Session: {inputs or '()'} -> {outputs or '()'}, engine {self.engine}{precision}>"

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[object, ...]:
        origin = self._origin if self._origin.source is not None else self._origin.stored(self.model)
        return restore_session, (origin, self.engine)

    @property
    def inputs(self) -> tuple[SessionValue, ...]:
        """The inputs that a caller feeds, in the model's order; initializers listed as inputs have defaults."""
        values = (declaration.value for declaration in self._inputs.values())
        return tuple(SessionValue(v.name, v.type, v.initializer is not None) for v in values)

    @property
    def outputs(self) -> tuple[SessionValue, ...]:
        return tuple(SessionValue(name, output.value.type) for name, output in self._outputs.items())

    def run(
        self,
        feeds: Mapping[str, object] | None = None,
        outputs: Sequence[str] | None = None,
        *,
        timeout: float | None = None,
        cancellation: CancellationToken | None = None,
        out: OutputArrays | None = None,
        cast: Cast = "no",
    ) -> dict[str, RunResult]:
        """The outputs by name, or those that `outputs` names: arrays, lists, dicts, None.

        Type checkers take an output for an array, so that `run(feeds)["y"] + 1` needs no cast.  An output that is a
        sequence, a map or an optional can still be narrowed, by `isinstance(outputs["y"], list)`.

        feeds: values by input name: NumPy and ml_dtypes arrays, anything with `__array__` or `__dlpack__`, Python numbers,
            strings and lists where the declared type leaves nothing open, lists for sequences, dicts for maps, None for an
            empty optional.  Or a data frame of pandas or polars, or a table of pyarrow: each column is fed to the input of
            its name.  Results belong to the caller: they share no memory with feeds or weights.
        timeout: seconds that the run may take, in addition to the limit `limits.seconds`.  A run that exceeds it, or that
            `cancel` or Ctrl-C ends, stops within about a tenth of a second even in a long operator, and the session can
            run again.  A NumPy function or a single unit of work in progress continues in a thread of its own, and its
            result is dropped.  It still reads the fed arrays: do not write to them after such an end, feed new ones.
        cancellation: a token that ends this run and all others that were given it; `cancel` ends all runs of the session.
        out: arrays by output name that receive outputs: writeable, contiguous in C order, of the output's element type and
            shape, and without memory in common with feeds.  The results contain them.  A run that fails may have written to
            them.  An array may be that of one feed itself, which the output replaces.  Where the output is proved to be the
            input with some elements replaced, as a cache that GroupQueryAttention or TensorScatter updates, only these
            elements are written.  A run that fails has then replaced some of them, and may be repeated with the same feeds.
        cast: whether a fed array is converted to the declared element type: "no" raises InputError for another type;
            "safe" converts where every value is preserved; "same_kind" may also round floats (as in `numpy.can_cast`).

        Raises InputError before anything runs, EvaluationError from an operator, OutputError when a result is not
        what the model declares of it, CancelledError, and LimitError.
        """
        if type(feeds) is not dict or type(outputs) in (str, dict):
            refuse_other_convention(feeds, outputs, self._inputs)
        if cast is not CASTS[0]:
            require_choice("cast", cast, CASTS)
        control = None
        if timeout is not None or cancellation is not None or self._is_timed:
            control = self._make_control(timeout, cancellation)
            control.check()
        memory = None
        if out is not None:
            memory = check_output_arrays(out, select_outputs(outputs, self._outputs), feeds)
        if (
            outputs is None
            and self._try_run is not None
            and (results := self._try_run(feeds, control, memory)) is not None
        ):
            return results if memory is None else memory.copy(results)
        with typed_memory_errors("run the model"):
            results = self._run_checked(
                feeds, outputs, control or RunControl(self._counters.cancellation), cast
            )
            return results if memory is None else memory.copy(results)

    def run_async(
        self,
        feeds: Mapping[str, object] | None = None,
        outputs: Sequence[str] | None = None,
        **options: Unpack[RunKeywords],
    ) -> Future[dict[str, RunResult]]:
        """`run` in a thread of the process's pool; the future returns the results of `run`, or raises its error.

        To end the run, pass a `cancellation` token.  Do not write to the fed arrays before the future is done.
        """
        return submit(partial(self.run, feeds, outputs, **options))

    async def arun(
        self,
        feeds: Mapping[str, object] | None = None,
        outputs: Sequence[str] | None = None,
        **options: Unpack[RunKeywords],
    ) -> dict[str, RunResult]:
        """`run` for coroutines: other tasks of the event loop continue meanwhile, and cancelling the task ends the run."""
        token = options.pop("cancellation", None)
        return await wait_for(partial(self.run, feeds, outputs, **options), token)

    def _run_checked(
        self,
        feeds: Mapping[str, object] | None,
        outputs: Sequence[str] | None,
        control: RunControl,
        cast: Cast,
    ) -> dict[str, RuntimeValue]:
        """`run` with all checks.  Only `run` may call it, since warnings name the caller by its depth in the stack."""
        dims = self._dispatch.new_dims()
        try:
            values = check_feeds({} if feeds is None else feeds, self._inputs, dims, cast)
            names = select_outputs(outputs, self._outputs)
            self._counters.count_run()
            results = self._dispatch.execute(self._runner, values, dims, control)
            check_results(results, self._outputs, dims)
        finally:
            self._counters.shape_reports.warn(dims.findings, stacklevel=3)
            self._counters.warn(stacklevel=3)
        if isinstance(self._runner, NativeEngine) and not self._dispatch.observes(dims):
            self._dispatch.record_validated(self._runner, values, self._inputs, self._outputs)
        return {name: copy_if_read_only(results[name]) for name in names}

    def _make_control(
        self, timeout: float | None = None, token: CancellationToken | None = None
    ) -> RunControl:
        """The cancellation and deadline of a run that begins now; raises InputError for a timeout that is no number."""
        require_type("cancellation", token, (CancellationToken, type(None)), "a sx.CancellationToken or None")
        if timeout is not None and not is_number(timeout):
            raise InputError(f"timeout must be a number of seconds, or None; got {timeout!r}", name="timeout")
        if timeout is None or timeout >= self._limits.seconds:
            seconds = None if self._limits.seconds == math.inf else self._limits.seconds
            return RunControl(
                self._counters.cancellation, seconds=seconds, limit="limits.seconds", token=token
            )
        return RunControl(self._counters.cancellation, seconds=float(timeout), limit="timeout", token=token)

    def reseed(self, seed: int) -> None:
        """Makes random operators without a seed attribute draw as in a new session with this seed.

        Not meant for sessions with runs in progress.  Raises SardonyxError for a closed session, TypeError for a seed that
        is not an integer.
        """
        require_integer("seed", seed)
        self._runner.random_source.reseed(seed)

    def cancel(self) -> None:
        """Ends all runs of the session that are in progress in other threads, each with a CancelledError.

        Runs that begin later are not affected.  May be called from any thread and from signal handlers.
        """
        self._counters.cancellation.cancel()

    def trace(self, feeds: Mapping[str, object] | None = None) -> list[tuple[Node, list[RunResult]]]:
        """Every node that the reference engine runs, with its results, in order; nodes of subgraphs and functions included."""
        trace: list[tuple[Node, list[RunResult]]] = []
        dims = self._dispatch.new_dims()
        try:
            values = check_feeds({} if feeds is None else feeds, self._inputs, dims)
            control = self._make_control()
            self._dispatch.trace(
                self._runner, values, dims, control, lambda node, results: trace.append((node, list(results)))
            )
        finally:
            self._counters.shape_reports.warn(dims.findings, stacklevel=2)
        return trace

    def plan(self, lengths: Mapping[str, int] | None = None) -> MemoryReport:
        """The memory of a run, for the given lengths of the inputs' dimension variables.

        The name of a dim without a name consists of its input and axis, as in "x.0".  Raises InputError for lengths that
        are missing or that no run can have, and SardonyxError under the reference engine, which plans no memory.
        """
        if not isinstance(self._runner, NativeEngine):
            raise SardonyxError('memory planning requires the native engine: Session(..., engine="native")')
        if lengths is not None:
            require_mapping("lengths", lengths, str, (int, np.integer), "names of dims to lengths")
        return self._runner.memory_plan(lengths or {})


def restore_session(origin: SessionOrigin, engine: Engine) -> Session:
    """A new session like the one that was pickled."""
    assert origin.source is not None, "a pickled session has a path or the model's bytes"
    return Session(
        origin.source,
        engine=engine,
        threads=origin.threads,
        seed=origin.seed,
        limits=origin.limits,
        policy=origin.policy,
        operator_sets=origin.operator_sets,
        verify_checksums=origin.verify_checksums,
        shapes=origin.shapes,
        operators=origin.operators,
        precision=EXACT if engine == "reference" else origin.precision,
        verify="off" if engine == "reference" else origin.verify,
        start=origin.start,
    )


def release_model(session: Session) -> None:
    """Frees the model that a session of a cached program has decoded.  It is decoded again if it is needed."""
    source = session._dispatch.source
    if isinstance(source, LazyModel):
        source.release()
        if len(source.data) > MIN_COLLECTED_BYTES:
            gc.collect()  # a graph is a reference cycle, which holds copies of the weights
            trim_heap()
