"""The native engine of a session: compiled programs where they fit, the reference engine for what is left."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sardonyx._src.compile.program import HostCall, Program
from sardonyx._src.interp.draws import Draws
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.io.load import without_collection
from sardonyx._src.io.nesting import nesting_limited
from sardonyx._src.io.pages import let_go_of_files
from sardonyx._src.ir.graph import Model, Node
from sardonyx._src.ir.tensors import Tensor
from sardonyx._src.ops.api import RunLimits, RuntimeValue
from sardonyx._src.runtime.deferred import Deferred
from sardonyx._src.runtime.helped import helped
from sardonyx._src.runtime.host import inputs_of
from sardonyx._src.runtime.limits import Unfit
from sardonyx._src.runtime.native import NativeProgram, compile_model
from sardonyx._src.runtime.unchanged import COMPILED, Version

if TYPE_CHECKING:
    from sardonyx._src.runtime.memory_plan import MemoryPlan

log = logging.getLogger(__name__)
Observer = Callable[[Node, Sequence[RuntimeValue]], None]


class NativeEngine:
    """Runs a model's graph by a compiled program.

    The program is for callers who override no initializer, and for feeds that every operator takes.  Whatever else is
    asked, a run that is observed among it, the reference engine answers: it says what is wrong with feeds.
    """

    behind: Interpreter | None = None  # the reference engine, once it was asked

    def __init__(
        self,
        model: Model,
        *,
        threads: int | None = None,
        limits: RunLimits | None = None,
        seed: int | None = None,
        version: Version | None = None,
        program: Program | None = None,
    ) -> None:
        """version: tells the model from all others, if that is known; engines of one version share its program, and
        so do those of models that hold the same.  program: that of the model, if it is there already.

        Raises, before anything runs, what the reference engine raises for a model that cannot be run.
        """
        self.begin(model, limits, seed)
        self.behind = self.interpreter()
        # Imported here because kept programs do without.
        from sardonyx._src.runtime.content import compiled, content_of, shared

        with helped(), nesting_limited(), without_collection():
            key = version or content_of(model)
            self.compiled = shared(key) or compiled(program or program_of(model), key)
            self.native = NativeProgram(self.compiled.program, threads)
        if key is not None:  # now that weights are packed: nothing that callers write to changes them
            COMPILED[key] = self.compiled
        self.again = self.native.again

    def begin(self, given: Model | Deferred, limits: RunLimits | None, seed: int | None) -> None:
        """Sets what an engine has besides its program."""
        self.given = given
        self.interface = given if isinstance(given, Model) else given.interface
        self.limits = limits or RunLimits()
        self.draws = Draws(seed)
        self.defaults = {v.name for v in self.interface.graph.inputs if v.initializer is not None}

    @property
    def model(self) -> Model:
        return self.given if isinstance(self.given, Model) else self.given.model

    @property
    def reference(self) -> Interpreter:
        """The reference engine behind this one."""
        if self.behind is None:
            self.behind = self.interpreter()
        return self.behind

    def interpreter(self) -> Interpreter:
        """A reference engine whose random operators go on where these are."""
        return Interpreter(self.model, limits=self.limits, draws=self.draws)

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
                return self.native.run(feeds, self.limits, self.draws)
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


def program_of(model: Model) -> Program:
    """The program of a model, whose weights are yet to be packed; meanwhile nothing else holds them in memory."""
    program = compile_model(model)
    let_go_of_weights(program)
    gc.collect(0)  # what lowering knew of weights stands in cycles, all of them young
    let_go_of_files(
        v.initializer for v in model.graph.initializers.values() if isinstance(v.initializer, Tensor)
    )
    return program


def let_go_of_weights(program: Program) -> None:
    """Takes the constants out of a graph that none of the nodes left to the host reads: steps have their own."""
    read = {
        value
        for action in program.actions
        if isinstance(action, HostCall)
        for value in inputs_of(action.node)
    }
    graph = program.model.graph
    for value in list(graph.initializers.values()):
        if value not in read and value not in program.outputs:
            graph.remove_initializer(value)
