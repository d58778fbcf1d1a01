"""Sessions: a model made ready to run, again and again."""

from __future__ import annotations

import difflib
import io
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast

import numpy as np

from sardonyx._src.dtypes import DataType
from sardonyx._src.errors import OutputError, SardonyxError
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.io.external import Policy
from sardonyx._src.io.load import Source, load
from sardonyx._src.io.operator_sets import SetSource
from sardonyx._src.ir.graph import Model, Node
from sardonyx._src.ir.types import Shape, TensorType, Type
from sardonyx._src.ops.api import RunLimits, RuntimeValue
from sardonyx._src.runtime.deferred import Deferred
from sardonyx._src.runtime.dims import Lengths
from sardonyx._src.runtime.engine import NativeEngine
from sardonyx._src.runtime.feeds import checked
from sardonyx._src.runtime.kept import kept_engine, native_engine
from sardonyx._src.runtime.kinds import described, is_a
from sardonyx._src.runtime.unchanged import Version, is_whole, version_of

if TYPE_CHECKING:
    from sardonyx._src.runtime.memory_plan import MemoryPlan

log = logging.getLogger(__name__)
Engine = Literal["auto", "reference", "native"]
ENGINES: tuple[Engine, ...] = ("auto", "reference", "native")


@dataclass(frozen=True, slots=True)
class Port:
    """An input or output of a model."""

    name: str
    type: Type | None
    has_default: bool = False  # of an input: it may be left out

    @property
    def dtype(self) -> DataType | None:
        """The element type, of a tensor."""
        return self.type.dtype if isinstance(self.type, TensorType) else None

    @property
    def shape(self) -> Shape | None:
        """The declared dims of a tensor: numbers, variables, or None; None for an unknown rank."""
        return self.type.shape if isinstance(self.type, TensorType) else None


class Session:
    """A model ready to run.

    `engine`: "native" compiles the model; "reference" runs every operator as written, in NumPy; "auto" is native for
    every model that can be compiled, and says in `engine` which it is.
    `threads` is for engines that have their own (the reference engine uses what NumPy does); `seed` makes random
    operators without a seed of their own repeatable; `limits` bound what a single operator may use.  Loading is as
    with `sx.load`.  A path that ends in `.sdx` is a program that `sardonyx compile` has made: the native engine runs it, and
    `model` has nothing but its inputs and outputs.

    Threads may run one session at the same time, forked children too.  Sessions of one file that has not changed share
    their weights, and the native engine keeps what it compiles of a file for the next process, in the folder that
    `SARDONYX_CACHE` names or in the user's; nothing is kept if that is set to nothing.  Sessions of models that hold the
    same share them too.  A pickled session is the path of its model, or the model itself if it came from elsewhere, and
    is made anew where it is unpickled; random numbers begin anew.

    Raises what `load` raises, and UnsupportedOperator, naming the node, when an operator cannot be run.
    """

    def __init__(
        self,
        source: Source,
        *,
        engine: Engine = "auto",
        threads: int | None = None,
        seed: int | None = None,
        limits: RunLimits | None = None,
        policy: Policy | str = Policy.HUB,
        operator_sets: Iterable[SetSource] = (),
    ) -> None:
        if engine not in ENGINES:
            raise SardonyxError(f"there is no engine {engine!r}; there are {', '.join(map(repr, ENGINES))}")
        if threads is not None and threads < 1:
            raise SardonyxError(
                f"threads is {threads}: at least 1 is needed, or None for as many as there are cores"
            )
        saved = saved_path(source, engine)
        self.engine: Engine = "native" if saved or engine == "auto" else engine
        sets, policy = tuple(operator_sets), Policy(policy)
        self._origin = Origin.of(source, threads, seed, limits, policy, sets)
        self._runner: Interpreter | NativeEngine | Closed
        self._given: Model | Deferred
        before = None if saved or sets else version_of(source)
        ready = self._ready(source, saved, before)
        if ready is not None:
            self._runner, self._given, face = ready, ready.given, ready.interface
        else:
            self._given = face = load(source, policy=policy, operator_sets=sets)
            version = before if before == version_of(source) and is_whole(face) else None
            self._runner = self._made(face, version, engine)
        self._again = self._runner.again if isinstance(self._runner, NativeEngine) else None
        self._ir_version = face.ir_version
        self._inputs = face.graph.inputs
        self._outputs = tuple(face.graph.outputs)

    def _ready(self, source: Source, saved: Path | None, version: Version | None) -> NativeEngine | None:
        """The engine of a program that was compiled before; None if there is none."""
        how = self._origin
        if saved is not None:
            from sardonyx._src.runtime.saved import SavedEngine  # which models from other files do without

            return SavedEngine(saved, threads=how.threads, limits=how.limits, seed=how.seed)
        if version is None or self.engine == "reference":
            return None
        path = Path(cast("str | os.PathLike[str]", source))
        return kept_engine(path, version, threads=how.threads, limits=how.limits, seed=how.seed)

    def _made(self, model: Model, version: Version | None, wanted: Engine) -> Interpreter | NativeEngine:
        """The engine for a model; `engine` says which it is."""
        how = self._origin
        try:
            if self.engine == "native":
                return native_engine(
                    model, threads=how.threads, limits=how.limits, seed=how.seed, version=version
                )
        except SardonyxError as error:
            if wanted == "native":
                raise
            log.info("the reference engine runs the model, since it cannot be compiled: %s", error)
            self.engine = "reference"
        return Interpreter(model, limits=how.limits, seed=how.seed)

    @property
    def model(self) -> Model:
        """The model that runs, which is read when it is first asked for if its program was there already."""
        return self._given if isinstance(self._given, Model) else self._given.model

    def close(self) -> None:
        """Lets go of what runs need: memory, and weights in the form that kernels take; nothing can be run any more.

        Runs that are under way end as they would.  A session that nobody has any more closes itself.
        """
        self._again, self._runner = None, Closed()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[object, ...]:
        origin = self._origin if self._origin.source is not None else self._origin.stored(self.model)
        return reopened, (origin, self.engine)

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The inputs that a caller feeds, in the model's order; initializers listed as inputs have defaults."""
        return tuple(Port(v.name, v.type, v.initializer is not None) for v in self._inputs)

    @property
    def outputs(self) -> tuple[Port, ...]:
        return tuple(Port(v.name, v.type) for v in self._outputs)

    def run(
        self, feeds: Mapping[str, object] | None = None, outputs: Sequence[str] | None = None
    ) -> dict[str, RuntimeValue]:
        """The outputs by name, or those of them that `outputs` names: arrays, lists, dicts, None.

        `feeds` takes NumPy and ml_dtypes arrays, anything with `__array__` or `__dlpack__`, Python numbers, strings
        and lists where the declared type leaves nothing open, lists for sequences, dicts for maps, None for an
        empty optional.  What comes out is the caller's own: nothing of it is shared with feeds or weights.

        Raises InputError before anything runs, EvaluationError from an operator, OutputError when a result is not
        what the model declares of it, and LimitError.
        """
        if outputs is None and self._again is not None and (found := self._again(feeds)) is not None:
            return found
        lengths = Lengths(self._ir_version)
        values = checked({} if feeds is None else feeds, self._inputs, lengths)
        wanted = self._wanted(outputs)
        results = self._runner.run(values)
        self._hold_outputs(results, lengths)
        if isinstance(self._runner, NativeEngine):
            self._runner.approve(values)
        return {name: owned(results[name]) for name in wanted}

    def trace(self, feeds: Mapping[str, object] | None = None) -> list[tuple[Node, list[RuntimeValue]]]:
        """Every node of the run with its results, in order; nodes of subgraphs and functions too."""
        seen: list[tuple[Node, list[RuntimeValue]]] = []
        lengths = Lengths(self._ir_version)
        values = checked({} if feeds is None else feeds, self._inputs, lengths)
        self._runner.run(values, lambda node, results: seen.append((node, list(results))))
        return seen

    def plan(self, lengths: Mapping[str, int] | None = None) -> MemoryPlan:
        """What memory a run takes, given the lengths of the inputs' dimension variables.

        A size of input "x" that has no name goes by "x.0", with its axis.  Raises InputError for lengths that are missing or
        that no run has, and SardonyxError under the reference engine, which plans nothing.
        """
        if not isinstance(self._runner, NativeEngine):
            raise SardonyxError('memory is planned by the native engine: Session(..., engine="native")')
        return self._runner.memory_plan(lengths or {})

    def _wanted(self, outputs: Sequence[str] | None) -> list[str]:
        names = [v.name for v in self._outputs]
        for name in outputs or ():
            if name not in names:
                close = difflib.get_close_matches(name, names, 1)
                hint = f"did you mean {close[0]!r}?" if close else f"it has {names}"
                raise OutputError(f"the model has no output {name!r}; {hint}", name=name)
        return names if outputs is None else list(outputs)

    def _hold_outputs(self, results: Mapping[str, RuntimeValue], lengths: Lengths) -> None:
        lengths.error, lengths.learns = OutputError, False
        for value in self._outputs:
            result = results[value.name]
            if not is_a(result, value.type):
                what = f"output {value.name!r} is declared {value.type}, and is {described(result)}"
                raise OutputError(what, name=value.name)
            lengths.hold(result, value.type, f"output {value.name!r}")
        lengths.settle()


@dataclass(frozen=True, slots=True)
class Origin:
    """What a session was made from, less its engine: enough to make it again.  `source` is a path, or bytes."""

    source: str | bytes | None
    threads: int | None
    seed: int | None
    limits: RunLimits | None
    policy: Policy | str
    operator_sets: tuple[SetSource, ...]

    @classmethod
    def of(
        cls,
        source: Source,
        threads: int | None,
        seed: int | None,
        limits: RunLimits | None,
        policy: Policy | str,
        operator_sets: tuple[SetSource, ...],
    ) -> Origin:
        path = os.path.abspath(os.fspath(source)) if isinstance(source, str | os.PathLike) else None
        return cls(path, threads, seed, limits, policy, operator_sets)

    def stored(self, model: Model) -> Origin:
        """The same with the model's bytes in place of a path, operator sets merged in."""
        from sardonyx._src.io.save import save  # which few sessions need

        content = io.BytesIO()
        save(model, content)
        return replace(self, source=content.getvalue(), operator_sets=())


def reopened(origin: Origin, engine: Engine) -> Session:
    """The session that was pickled, made anew."""
    assert origin.source is not None, "a pickled session has a path or the model's bytes"
    return Session(
        origin.source,
        engine=engine,
        threads=origin.threads,
        seed=origin.seed,
        limits=origin.limits,
        policy=origin.policy,
        operator_sets=origin.operator_sets,
    )


class Closed:
    """The engine of a session that was closed."""

    def run(self, feeds: Mapping[str, RuntimeValue], observe: object = None) -> dict[str, RuntimeValue]:
        raise SardonyxError("the session was closed; make a new one to run the model")


def saved_path(source: Source, engine: Engine) -> Path | None:
    """The file of a program that `sardonyx compile` has made, if that is the source."""
    if not isinstance(source, str | os.PathLike) or not os.fspath(source).endswith(".sdx"):
        return None
    if engine == "reference":
        raise SardonyxError(f"{source} holds a compiled program, which the reference engine cannot run")
    return Path(source)


def owned(value: RuntimeValue) -> RuntimeValue:
    """The value as one that the caller may write to: feeds and weights are read-only, and so are views of them."""
    match value:
        case np.ndarray():
            return value if value.flags.writeable else value.copy()
        case list():
            return [owned(one) for one in value]
        case dict():
            return cast(RuntimeValue, {key: owned(one) for key, one in value.items()})
    return value
