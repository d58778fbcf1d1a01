"""The native engine of a session: compiled programs where they fit, the reference engine for what is left."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sardonyx.compile.program import Program
from sardonyx.interp.interpreter import Interpreter
from sardonyx.io.load import without_collection
from sardonyx.io.nesting import nesting_limited
from sardonyx.ir.graph import Model, Node
from sardonyx.ops.api import RunLimits, RuntimeValue
from sardonyx.runtime.native import NativeProgram, Unfit, compile_model
from sardonyx.runtime.unchanged import COMPILED, Compiled, Version

if TYPE_CHECKING:
    from sardonyx.runtime.memory_plan import MemoryPlan

log = logging.getLogger(__name__)
Observer = Callable[[Node, Sequence[RuntimeValue]], None]


class NativeEngine:
    """Runs a model's graph by a compiled program.

    The program is for callers who override no initializer, and for feeds that every operator takes.  Whatever else is
    asked, a run that is observed among it, the reference engine answers: it says what is wrong with feeds.
    """

    behind: Interpreter | None = None  # the reference engine, once it was asked
    rng: np.random.Generator | None = None

    def __init__(
        self,
        model: Model,
        *,
        threads: int | None = None,
        limits: RunLimits | None = None,
        seed: int | None = None,
        version: Version | None = None,
    ) -> None:
        """version: tells the model from all others, if that is known; engines of one version share its program.

        Raises, before anything runs, what the reference engine raises for a model that cannot be run.
        """
        self.begin(model, limits, seed)
        self.behind = self.interpreter()
        with nesting_limited(), without_collection():
            self.compiled = compiled(model, version)
            self.native = NativeProgram(self.compiled.program, threads)
        let_go_of_weights(self.native.program)
        self.again = self.native.again

    def begin(self, model: Model, limits: RunLimits | None, seed: int | None) -> None:
        """Sets what an engine has besides its program."""
        self.model = model
        self.limits = limits or RunLimits()
        self.seed, self.lock = seed, threading.Lock()
        self.defaults = {v.name for v in model.graph.inputs if v.initializer is not None}

    @property
    def reference(self) -> Interpreter:
        """The reference engine behind this one."""
        if self.behind is None:
            self.behind = self.interpreter()
        return self.behind

    def generator(self) -> np.random.Generator:
        """What random operators draw from."""
        if self.rng is None:
            with self.lock:  # or two threads would draw the same numbers
                self.rng = self.rng or np.random.default_rng(self.seed)
        return self.rng

    def interpreter(self) -> Interpreter:
        made = Interpreter(self.model, limits=self.limits)
        made.rng = self.generator()  # random operators go on where they are, whoever runs them
        return made

    def __del__(self) -> None:
        """Lets go of the memory of runs at once: contexts and their program hold each other."""
        native = getattr(self, "native", None)
        if native is not None:
            native.idle.clear()

    def run(
        self, feeds: Mapping[str, RuntimeValue], observe: Observer | None = None
    ) -> dict[str, RuntimeValue]:
        """The outputs by name; inputs that are not fed take their defaults."""
        if observe is not None or not self.defaults.isdisjoint(feeds):
            return self.reference.run(feeds, observe)
        try:
            with np.errstate(all="ignore"), nesting_limited():
                return self.native.run(feeds, self.limits, self.generator)
        except Unfit:
            log.info("a run is beyond what the program was made for: the reference engine does it")
            return self.reference.run(feeds)

    def approve(self, feeds: Mapping[str, RuntimeValue]) -> None:
        """Says that feeds of these dims, and what a run made of them, are as the model declares."""
        if self.defaults.isdisjoint(feeds):
            self.native.approve(feeds)

    def memory_plan(self, lengths: Mapping[str, int]) -> MemoryPlan:
        """What memory runs of these lengths take; raises InputError for those that no run has."""
        return self.native.memory_plan(lengths)


def compiled(model: Model, version: Version | None) -> Compiled:
    """The program of a model: that of other engines, if they have the same version of it."""
    found = None if version is None else COMPILED.get(version)
    if found is None:
        found = Compiled(compile_model(model))
        if version is not None:
            COMPILED[version] = found
    return found


def let_go_of_weights(program: Program) -> None:
    """Takes the constants out of a graph of which only native steps are left: they have their own copies."""
    if len(program.steps) < len(program.actions):
        return
    graph = program.model.graph
    for value in list(graph.initializers.values()):
        if value not in program.outputs:
            graph.remove_initializer(value)
