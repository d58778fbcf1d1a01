"""Local reference: values of a model, computed by reference kernels from the nearest values of the native engine.

A comparison with a run of the reference engine would include the rounding errors of all steps before.  A local reference
starts from the values that the native engine has computed, so that it judges a single step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import EvaluationError
from sardonyx._src.interp.calls import execute_body
from sardonyx._src.interp.interpreter import Interpreter
from sardonyx._src.interp.run_control import RunControl
from sardonyx._src.interp.run_state import Frame, RandomSource, RunState
from sardonyx._src.interp.steps import CalledBody, NodeStep
from sardonyx._src.io.nesting import limit_nesting
from sardonyx._src.ir import Array, Model, Node, Value
from sardonyx._src.ir.walk import captures, location, nodes
from sardonyx._src.ops.registry import find
from sardonyx._src.ops.run_values import RunLimits, RuntimeValue, as_plain_value, as_run_value
from sardonyx._src.rewrite.proof.compare import relative_tolerance
from sardonyx._src.runtime.verification.values import ValueComparison, compare_value, is_float

VARIATIONS = 8  # inputs are varied by this fraction of their tolerance, to see whether that explains an error
MIN_ELEMENTS_PER_FLIP = 64  # one of every 64 integers or truth values may be rounded to the adjacent number


@dataclass(frozen=True, slots=True)
class Computed:
    """A value according to reference kernels.

    is_rounded: whether an operator that rounds is among those that compute it from known values.
    tolerance: the relative tolerance of the narrowest floats that are computed on the way.
    """

    value: RuntimeValue
    is_rounded: bool
    tolerance: float


class LocalReference:
    """The main graph of a model, of which single values can be computed.

    values: the values that nodes compute, by name.
    tolerance: the relative tolerance of floats; None for the tolerance of each element type.
    numbers: the number of the step of each node, in the order of execution.
    """

    def __init__(
        self, model: Model, limits: RunLimits, control: RunControl, tolerance: float | None = None
    ) -> None:
        self.limits, self.control, self.tolerance = limits, control, tolerance
        program = Interpreter(model, limits=limits).program
        self.constants, self.steps = program.constants, program.steps
        self.numbers = {step.node: number for number, step in enumerate(program.steps)}
        self.values = {v.name: v for step in program.steps for v in step.writes if v is not None}
        self.inputs = {value.name: None for value in model.graph.inputs}
        self.outputs = frozenset(value.name for value in model.graph.outputs)

    def ancestors(self, name: str) -> set[str]:
        """The names of a value and of all values that it is computed from."""
        steps, _ = self.steps_between(self.values[name], self.inputs)
        return {value.name for step in steps for value in step.writes if value is not None}

    def location(self, name: str) -> str:
        """The location of the node that computes a value."""
        value = self.values.get(name)
        return "" if value is None or value.producer is None else location(value.producer)

    def compare(
        self, name: str, actual: RuntimeValue, known: Mapping[str, RuntimeValue]
    ) -> ValueComparison | None:
        """Compares a value with the one that reference kernels compute from known values.

        None if no node computes the value, or if random numbers are drawn.  After operators that round, a float may differ
        by as much as slightly different inputs explain, and a small share of integers and truth values may be rounded to
        the adjacent number.
        known: the values of the native engine by name.
        """
        try:
            computed = self.compute(name, known)
        except EvaluationError as error:
            why = f"its reference kernel refuses the inputs: {error.why}"
            return ValueComparison(name, error.location, 0.0, 0.0, 0.0, (0, 0), why)
        if computed is None:
            return None
        with np.errstate(all="ignore"):
            comparison = compare_value(name, self.location(name), actual, computed.value, computed.tolerance)
            if comparison.agrees or not computed.is_rounded:
                return comparison
            is_explained = has_few_flips(actual, computed.value) or self.is_sensitive(comparison, known)
        return replace(comparison, why="") if is_explained else comparison

    def is_sensitive(self, comparison: ValueComparison, known: Mapping[str, RuntimeValue]) -> bool:
        """Whether inputs that differ by a fraction of the tolerance change a float value about as much as it differs."""
        if comparison.error <= comparison.tolerance or any(comparison.nonfinite):
            return False
        _, sources = self.steps_between(self.values[comparison.name], known)
        inputs = {source.name: known[source.name] for source in sources}
        varied = ({name: vary(x, scattered) for name, x in inputs.items()} for scattered in (False, True))
        first, *others = (self.compute(comparison.name, values) for values in (inputs, *varied))
        assert first is not None, "the value was computed before"
        errors = [compare_value("", "", x.value, first.value, None).error for x in others if x is not None]
        return comparison.error <= comparison.tolerance + max(errors, default=0.0)

    def compute(self, name: str, known: Mapping[str, RuntimeValue]) -> Computed | None:
        """A value, computed from known values; None if no node computes it, or if random numbers are drawn."""
        value = self.values.get(name)
        if value is None:
            return None
        steps, sources = self.steps_between(value, known)
        tolerances = [self.tolerance or 0.0]

        def observe(_: Node, results: Sequence[RuntimeValue]) -> None:
            floats = (x for x in results if isinstance(x, np.ndarray) and is_float(x))
            tolerances.extend(relative_tolerance(x.dtype) for x in floats)

        run = RunState(self.limits, RandomSource(0), self.control, observe)
        frame = Frame(self.constants | {v: as_run_value(known[v.name]) for v in sources}, None, run)
        with np.errstate(all="ignore"), limit_nesting():
            execute_body(CalledBody(frame, steps, ()))
        if run.random_source.has_drawn or value not in frame.values:
            return None
        is_rounded = any(rounds(step.node) for step in steps)
        return Computed(as_plain_value(frame.values[value]), is_rounded, max(tolerances))

    def steps_between(
        self, value: Value, known: Mapping[str, RuntimeValue]
    ) -> tuple[list[NodeStep], list[Value]]:
        """The steps that compute a value from the nearest known values, in order, and these known values."""
        needed: set[int] = set()
        sources: dict[Value, None] = {}
        pending = [value]
        while pending:
            node = pending.pop().producer
            assert node is not None, "a value that is neither known nor constant has a producer"
            if self.numbers[node] in needed:
                continue
            needed.add(self.numbers[node])
            for read in (*node.inputs, *(v for graph in node.subgraphs for v in captures(graph))):
                if read is not None and read.name in known:
                    sources[read] = None
                elif read is not None and read not in self.constants:
                    pending.append(read)
        return [self.steps[number] for number in sorted(needed)], list(sources)


def vary(value: RuntimeValue, scattered: bool) -> RuntimeValue:
    """A tensor of floats with its elements varied by a fraction of the tolerance; any other value unchanged.

    scattered: whether each element is varied at random; otherwise all become larger by the same factor.
    """
    if not isinstance(value, np.ndarray) or not is_float(value):
        return value
    changes = np.random.default_rng(0).uniform(-1, 1, value.shape) if scattered else np.ones(value.shape)
    factors = 1 + changes * relative_tolerance(value.dtype) / VARIATIONS
    varied: Array = value * factors.astype(value.dtype)
    return varied


def rounds(node: Node) -> bool:
    """Whether a node, or a node in its subgraphs, rounds.  A call of a function counts as rounding."""
    inner = (node, *(n for graph in node.subgraphs for n in nodes(graph)))
    operators = (find(n.domain, n.op_type) for n in inner)
    return any(operator is None or operator.tolerance == "rounding" for operator in operators)


def has_few_flips(actual: RuntimeValue, expected: RuntimeValue) -> bool:
    """Whether two arrays of integers or truth values differ by one unit, in a small share of the elements or in one."""
    if not (isinstance(actual, np.ndarray) and isinstance(expected, np.ndarray)):
        return False
    if actual.dtype != expected.dtype or actual.shape != expected.shape or actual.dtype.kind not in "iub":
        return False
    steps = np.abs(actual.astype(np.float64) - expected.astype(np.float64))
    return bool(
        steps.max(initial=0) <= 1 and np.count_nonzero(steps) <= 1 + steps.size // MIN_ELEMENTS_PER_FLIP
    )
