"""The reference engine: every operator in the version that the model names, as written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sardonyx._src.interp.draws import Draws
from sardonyx._src.interp.program import Program, refuse_missing_kernels
from sardonyx._src.interp.steps import Run
from sardonyx._src.io.nesting import nesting_limited
from sardonyx._src.ir.graph import Model, Node
from sardonyx._src.ops.api import RunLimits, RuntimeValue


class Interpreter:
    """Runs a model's graph.  Feeds are trusted to fit the graph's inputs; a session checks them."""

    def __init__(
        self,
        model: Model,
        *,
        limits: RunLimits | None = None,
        seed: int | None = None,
        draws: Draws | None = None,
    ) -> None:
        """Raises, before anything runs, UnsupportedOperator for a node without kernel, in functions too, InvalidModel for
        one that cannot be called, and LimitError for graphs nested deeper than the stack allows.

        `seed` makes the random operators that have none of their own repeat themselves; `draws` lets them go on where
        somebody else's are.
        """
        self.model = model
        self.limits = limits or RunLimits()
        self.draws = draws or Draws(seed)
        refuse_missing_kernels(model)
        with nesting_limited():
            self.program = Program(model.graph, model, model.opset_imports, {}).prepare()

    def run(
        self,
        feeds: Mapping[str, RuntimeValue],
        observe: Callable[[Node, Sequence[RuntimeValue]], None] | None = None,
    ) -> dict[str, RuntimeValue]:
        """The outputs by name; inputs that are not fed take their defaults.

        `observe` is called with each node and its results as soon as it has run.
        """
        graph = self.model.graph
        inputs = [feeds.get(v.name, self.program.constants.get(v)) for v in graph.inputs]
        run = Run(self.limits, self.draws, observe)
        with np.errstate(all="ignore"), nesting_limited():
            results = self.program.run(inputs, run)
        return {value.name: result for value, result in zip(graph.outputs, results, strict=True)}
