"""The native engine of a session: compiled programs where they fit, the reference engine for what is left."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sardonyx.interp.interpreter import Interpreter
from sardonyx.interp.program import refuse_missing_kernels
from sardonyx.io.load import without_collection
from sardonyx.io.nesting import nesting_limited
from sardonyx.ir.graph import Model, Node
from sardonyx.ops.api import RunLimits, RuntimeValue
from sardonyx.runtime.native import NativeProgram, Unfit, compile_model

log = logging.getLogger(__name__)
Observer = Callable[[Node, Sequence[RuntimeValue]], None]


class NativeEngine:
    """Runs a model's graph by a compiled program.

    The program is for callers who override no initializer, and for feeds that every operator takes.  Whatever else is
    asked, a run that is observed among it, the reference engine answers: it says what is wrong with feeds.
    """

    def __init__(
        self,
        model: Model,
        *,
        threads: int | None = None,
        limits: RunLimits | None = None,
        seed: int | None = None,
    ) -> None:
        """Raises, before anything runs, what the reference engine raises for a model that cannot be run."""
        self.model = model
        self.limits = limits or RunLimits()
        self.seed = seed
        self.rng = np.random.default_rng(seed)
        self.defaults = {v.name for v in model.graph.inputs if v.initializer is not None}
        refuse_missing_kernels(model)
        with nesting_limited(), without_collection():
            self.native = NativeProgram(compile_model(model), threads)
        self._reference: Interpreter | None = None
        self.again = self.native.again

    @property
    def reference(self) -> Interpreter:
        """The reference engine, made when it is first needed; random operators go on where they are."""
        if self._reference is None:
            self._reference = Interpreter(self.model, limits=self.limits, seed=self.seed)
            self._reference.rng = self.rng
        return self._reference

    def run(
        self, feeds: Mapping[str, RuntimeValue], observe: Observer | None = None
    ) -> dict[str, RuntimeValue]:
        """The outputs by name; inputs that are not fed take their defaults."""
        if observe is not None or not self.defaults.isdisjoint(feeds):
            return self.reference.run(feeds, observe)
        try:
            with np.errstate(all="ignore"), nesting_limited():
                return self.native.run(feeds, self.limits, self.rng)
        except Unfit:
            log.info("a run is beyond what the program was made for: the reference engine does it")
            return self.reference.run(feeds)

    def approve(self, feeds: Mapping[str, RuntimeValue]) -> None:
        """Says that feeds of these dims, and what a run made of them, are as the model declares."""
        if self.defaults.isdisjoint(feeds):
            self.native.approve(feeds)
