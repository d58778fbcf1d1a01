"""The reference engine: runs every node with the reference kernel of its operator version."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property

import numpy as np

from sardonyx._src.interp.program import InterpreterProgram, check_kernels, check_sparse_initializers
from sardonyx._src.interp.run_control import Cancellation, RunControl
from sardonyx._src.interp.run_state import RandomSource, RunState
from sardonyx._src.io.map_guard import MapGuard
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.ir import Graph, Model, Node, TensorType
from sardonyx._src.ir.dims import Expr, symbol
from sardonyx._src.ir.walk import model_tensors
from sardonyx._src.ops.api import RunLimits, RuntimeValue, as_plain_value, as_run_value


class Interpreter:
    """Runs a model's graph.  Feeds are assumed to match the graph's inputs; a session checks them."""

    def __init__(
        self,
        model: Model,
        *,
        limits: RunLimits | None = None,
        seed: int | None = None,
        random_source: RandomSource | None = None,
    ) -> None:
        """Raises UnsupportedOperator for nodes without kernel, also in functions, InvalidModel for nodes that
        cannot be called, and LimitError for graphs nested deeper than the stack allows and for sparse initializers that
        are larger than `limits.bytes` as dense tensors.

        seed: seeds the random operators that have no attribute `seed`.
        random_source: an existing source of random numbers, which is continued; `seed` is then not used.
        """
        self.model = model
        self.limits = limits or RunLimits()
        self.random_source = random_source or RandomSource(seed)
        check_kernels(model)
        check_sparse_initializers(model, self.limits.bytes)
        with limit_nesting():
            self.program = InterpreterProgram(model.graph, model, model.opset_imports, {}).prepare()

    @cached_property
    def map_guard(self) -> MapGuard:
        """The mapped files that contain weights."""
        return MapGuard(model_tensors(self.model))

    @cached_property
    def named_axes(self) -> dict[str, tuple[int, int]]:
        """For each dimension variable that an input tensor declares, the first such input and the axis."""
        axes: dict[str, tuple[int, int]] = {}
        for i, value in enumerate(self.model.graph.inputs):
            for axis, dim in enumerate(value.type.shape or () if isinstance(value.type, TensorType) else ()):
                if isinstance(dim, Expr) and [dim] == list(map(symbol, dim.symbols())):
                    axes.setdefault(dim.text, (i, axis))
        return axes

    def bound_lengths(self, inputs: Sequence[RuntimeValue]) -> dict[str, int]:
        """The lengths of dimension variables in a run with these inputs."""
        arrays = ((name, inputs[i], axis) for name, (i, axis) in self.named_axes.items())
        return {
            name: x.shape[axis] for name, x, axis in arrays if isinstance(x, np.ndarray) and axis < x.ndim
        }

    def run(
        self,
        feeds: Mapping[str, RuntimeValue],
        observe: Callable[[Node, Sequence[RuntimeValue]], None] | None = None,
        observe_inputs: Callable[[Graph, Sequence[RuntimeValue]], None] | None = None,
        control: RunControl | None = None,
    ) -> dict[str, RuntimeValue]:
        """The outputs by name; inputs that are not fed have their defaults.

        observe: called with each node and its results as soon as it has run.
        observe_inputs: called with each graph (of the model, of a node, of a function) and its arguments before it runs.
        control: whether the run must end, which is checked before each node.
        Raises FileChanged if weights are in a mapped file that was changed.
        """
        self.map_guard.require_unchanged()
        graph = self.model.graph
        inputs = [as_run_value(feeds.get(v.name, self.program.constants.get(v))) for v in graph.inputs]
        control = control or RunControl(Cancellation())
        run = RunState(
            self.limits, self.random_source, control, observe, 0, observe_inputs, self.bound_lengths(inputs)
        )
        with np.errstate(all="ignore"), limit_nesting():
            try:
                results = self.program.bind(run)(inputs)
            finally:
                run.memory.clear()
        return {value.name: as_plain_value(x) for value, x in zip(graph.outputs, results, strict=True)}
