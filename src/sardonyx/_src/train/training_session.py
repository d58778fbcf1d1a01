"""`TrainingSession`: initialization, training steps and inference of a model with training information."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType

import numpy as np

from sardonyx._src.arguments import (
    require_choice,
    require_flag,
    require_integer,
    require_mapping,
    require_path,
)
from sardonyx._src.compile.program.memory.recomputation import MemoryGoal
from sardonyx._src.errors import InputError, OutputError
from sardonyx._src.io.loading.load import ModelSource, load
from sardonyx._src.io.memory_release import release_pages
from sardonyx._src.io.saving.save import save
from sardonyx._src.ir import Array, Model, Tensor, Value
from sardonyx._src.ir.model import TrainingInfo, clone
from sardonyx._src.ops.api import RunLimits, RunResult, RuntimeValue
from sardonyx._src.runtime.session.session import ENGINES, Engine, Session
from sardonyx._src.runtime.session.session_origin import MAX_THREADS
from sardonyx._src.suggestions import suggest
from sardonyx._src.train.checkpointing import check_goal, read_goal, write_goal
from sardonyx._src.train.evaluation import evaluation_model
from sardonyx._src.train.prepare.targets import check_labels, read_targets
from sardonyx._src.train.state_buffers import StateBuffers, aligned_copy
from sardonyx._src.train.training_models import (
    algorithm_model,
    inference_model,
    initialization_model,
    state_values,
)

Binding = tuple[Value, Value]


class TrainingSession:
    """Trains a model as its training information says: IR specification, "Training Related Information".

    The state variables are the initializers that bindings of the model name.  They start with their stored values, are
    shared by the inference graph and all training steps, and change only in `initialize` and `step`.  A model has one
    training step for each entry of its training information; the caller decides about their order.  A session must not be
    used by several threads at once.

    `engine`, `threads`, `seed` and `limits`: as for `sx.Session`.
    `checkpointing`: "auto", or the bytes that the results of nodes should need at most; by default the goal that the model
    was prepared with.  The native engine then keeps fewer results for the gradients and computes the others again, to the
    same bits.

    Raises what `load` and `sx.Session` raise; InputError for a model without training information, or with a state that
    is not a dense tensor.
    """

    def __init__(
        self,
        source: ModelSource,
        *,
        engine: Engine = "auto",
        threads: int | None = None,
        seed: int | None = None,
        limits: RunLimits | None = None,
        checkpointing: MemoryGoal | None = None,
    ) -> None:
        check_goal(checkpointing)
        require_choice("engine", engine, ENGINES)
        require_integer("threads", threads, 1, MAX_THREADS, optional=True)
        self.model = load(source)
        if not self.model.training:
            raise InputError("the model must have training information; it has none", name="source")
        self._open = partial(Session, engine=engine, threads=threads, seed=seed, limits=limits)
        self._labels = read_targets(self.model)
        self._states = {value: value.name for value in state_values(self.model)}
        self._values = {value: initial_value(value) for value in self._states}
        self._buffers = StateBuffers()
        self._goal = read_goal(self.model) if checkpointing is None else checkpointing
        self._inference: Session | None = None
        self._algorithms: dict[tuple[int, bool], Session] = {}
        self._evaluations: dict[int, Session] = {}

    @property
    def state(self) -> Mapping[str, Array]:
        """The present values of the state variables by name; the arrays are read-only."""
        return MappingProxyType({name: self._values[value] for value, name in self._states.items()})

    @property
    def steps(self) -> int:
        """The number of training steps that the model offers."""
        return len(self.model.training)

    def initialize(self) -> None:
        """Runs the initialization graphs of all training steps in order, and assigns their outputs to the state."""
        for step in self.model.training:
            initialization = initialization_model(self.model, step)
            if initialization is not None:
                results = self._open(initialization).run()
                self._assign(step.initialization_binding, results)
        # The models of the runs are cyclic garbage, since graphs and nodes refer to each other, and their folded constants are
        # as large as the state.
        gc.collect()

    def step(
        self,
        feeds: Mapping[str, object] | None = None,
        index: int = 0,
        *,
        seed: int | None = None,
        inference_outputs: bool = True,
    ) -> dict[str, RunResult]:
        """Performs training step `index`: evaluates inference graph and algorithm, then assigns all updates at once.

        `feeds`: the inputs of both graphs by name, as for `sx.Session.run`.
        `seed`: seeds the random operators of this step that have no seed of their own; by default they continue from the
        step before.
        `inference_outputs`: whether the outputs of the inference graph are returned; if not, nodes that only they depend on
        are not executed.
        Returns the outputs of both graphs by name, and the values that updates assign.  If an error is raised, the state is
        unchanged.  Raises InputError for an index that the model does not have, and what `sx.Session.run` raises.
        """
        step, key = self._training_step(index), (index, inference_outputs)
        require_flag("inference_outputs", inference_outputs)
        if key not in self._algorithms:
            model = algorithm_model(self.model, step, self._states, inference_outputs=inference_outputs)
            write_goal(model, self._goal)
            self._algorithms[key] = self._open(model)
        if seed is not None:
            self._algorithms[key].reseed(seed)
        present = {source.name: self._values[state] for state, source in step.update_binding}
        buffers = self._buffers.take(present)
        results = self._run(self._algorithms[key], feeds, out=buffers)
        self._assign(step.update_binding, results)
        self._buffers.keep(present, buffers, results)
        return results

    def evaluate(self, feeds: Mapping[str, object] | None = None, index: int = 0) -> dict[str, RunResult]:
        """The loss and other metrics of training step `index` with the present state, which does not change.

        These are the outputs of the algorithm that are floating-point scalars and that no binding assigns.  Dropout does not
        drop, and BatchNormalization uses its running statistics.  Raises InputError for an index that the model does not
        have, and for a step without such outputs, and what `sx.Session.run` raises.
        """
        step = self._training_step(index)
        if index not in self._evaluations:
            self._evaluations[index] = self._open(evaluation_model(self.model, step, self._states))
        return self._run(self._evaluations[index], feeds)

    def _training_step(self, index: int) -> TrainingInfo:
        require_integer("index", index, 0, self.steps - 1)
        return self.model.training[index]

    def infer(
        self, feeds: Mapping[str, object] | None = None, outputs: Sequence[str] | None = None
    ) -> dict[str, RunResult]:
        """Runs the inference graph with the present state, which does not change; arguments and results as `sx.Session.run`."""
        if self._inference is None:
            self._inference = self._open(inference_model(self.model, self._states))
        return self._run(self._inference, feeds, outputs)

    def save(self, target: str | os.PathLike[str]) -> None:
        """Writes the model with the present state as its initializers.

        A training session of that file continues with equal bits, except for draws of random operators without a seed.
        """
        require_path("target", target)
        save(self.checkpoint(), target)

    def checkpoint(self) -> Model:
        """A copy of the model with the present state as its initializers."""
        result = clone(self.model)
        for copy, value in zip(state_values(result), self._states, strict=True):
            assert isinstance(copy.initializer, Tensor), f"{copy!r} has no tensor"
            copy.initializer = Tensor.of(self._values[value], copy.initializer.dtype, copy.name)
        return result

    def _run(
        self,
        session: Session,
        feeds: Mapping[str, object] | None,
        outputs: Sequence[str] | None = None,
        out: Mapping[str, Array] | None = None,
    ) -> dict[str, RunResult]:
        """A run with the present state; out: arrays for outputs."""
        if feeds is not None:
            require_mapping("feeds", feeds, str, object, "names of inputs to values")
        given = dict(feeds or {})
        for name in given:
            if name in self.state:
                raise InputError(f"{name!r} is a state variable, which cannot be fed", name=name)
        expected = {value.name for value in session.inputs}
        for name in given:
            if name not in expected:
                known = sorted(expected - self.state.keys())
                raise InputError(f"there is no input {name!r}{suggest(name, known, 'inputs')}", name=name)
            labels, values = self._labels.get(name), integers_of(given[name])
            if labels is not None and values is not None:
                if not values.size:
                    shape = list(values.shape)
                    raise InputError(f"{name!r} must have at least one example; got shape {shape}", name=name)
                check_labels(name, values, labels, "feeds")
        given.update((name, array) for name, array in self.state.items() if name in expected)
        return session.run(given, outputs, out=out)

    def _assign(self, bindings: Sequence[Binding], results: Mapping[str, RuntimeValue]) -> None:
        """Assigns results to the state variables: to all, or to none if an error is raised."""
        updates = {
            state: checked_update(state, self._values[state], results[source.name])
            for state, source in bindings
        }
        self._values.update(updates)


def integers_of(values: object) -> Array | None:
    """Values as an array; None if they are no array, which the run itself reports."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError):
        return None


def initial_value(state: Value) -> Array:
    """A copy of the stored value of a state variable; the pages of the mapped file are released.

    The copy is aligned.  Few values in a file are, and each run would copy one that is not.
    """
    assert isinstance(state.initializer, Tensor), f"{state!r} has no tensor"
    stored = state.initializer.numpy()
    value = aligned_copy(stored)
    release_pages(stored)
    return read_only(value)


def checked_update(state: Value, old: Array, new: RuntimeValue) -> Array:
    """A new value of a state variable; raises OutputError unless it has the variable's type and shape."""
    if not isinstance(new, np.ndarray) or new.dtype != old.dtype or new.shape != old.shape:
        actual = f"{new.dtype}{list(new.shape)}" if isinstance(new, np.ndarray) else type(new).__name__
        what = (
            f"a new value of state variable {state.name!r} must be {old.dtype}{list(old.shape)}; got {actual}"
        )
        raise OutputError(what, name=state.name)
    return read_only(new)


def read_only(array: Array) -> Array:
    """A view of an array that cannot be written through."""
    view = array.view()
    view.flags.writeable = False
    return view
