"""Execution context that verifies a run action by action.

After each action, reference kernels compute its results once more, from the values that the native engine has computed before
(`local_reference.py`).  So errors do not accumulate, and near ties are broken alike: a value that differs is the fault of one
step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from sardonyx._src.compile.printing.steps import action_kind, action_name
from sardonyx._src.compile.program.steps.program import BindSizes, FallbackOp, stage_of
from sardonyx._src.dataclass import dataclass
from sardonyx._src.interp.run_control import RunControl
from sardonyx._src.interp.run_state import Frame, RandomSource, RunState
from sardonyx._src.ops.run_values import RunLimits, RuntimeValue, as_plain_value
from sardonyx._src.rewrite.proof.compare import difference
from sardonyx._src.runtime.runs.native_program import NativeProgram
from sardonyx._src.runtime.runs.stepwise_context import StepwiseContext
from sardonyx._src.runtime.verification.held_values import HeldValue, HeldValues
from sardonyx._src.runtime.verification.local_reference import LocalReference
from sardonyx._src.runtime.verification.values import ValueComparison

UNBOUND = "it is written before the sizes are bound on which its memory depends"
OVERWRITTEN = "it was right when it was written, and is wrong when it is read"


@dataclass(frozen=True, slots=True)
class Fault:
    """A value that differs from the local reference.  step: the action that has written it; "" if that is not known."""

    comparison: ValueComparison
    step: str


class WrongValue(Exception):
    """Ends a run at its first fault."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.comparison.why)
        self.fault = fault


class VerifyingContext(StepwiseContext):
    """The context of one verified run.

    held: which tensors hold which values.
    graph: computes values of the program's graph by reference kernels.
    known: the values that the native engine has computed so far, by name.
    bound: the number of bindings of sizes executed so far.
    """

    def __init__(self, native: NativeProgram, held: HeldValues, graph: LocalReference) -> None:
        super().__init__(native)
        self.held, self.graph = held, graph
        self.known: dict[str, RuntimeValue] = {}
        self.bound = 0

    def verify_run(
        self, feeds: Mapping[str, RuntimeValue], limits: RunLimits, control: RunControl
    ) -> dict[str, RuntimeValue]:
        """The outputs by name; raises WrongValue, and what a run raises."""
        self.known = {value.name: feeds.get(value.name) for value in self.native.program.model.graph.inputs}
        outputs = self.run(feeds, RunState(limits, RandomSource(0), control))
        results = {name: as_plain_value(value) for name, value in outputs.items()}
        end = len(self.native.program.actions)
        for value, tensor in self.native.program.outputs.items():
            writer = None if tensor is None else self.held.last_writer(tensor.buffer, end)
            self.check(value.name, results[value.name], writer)
        return results

    def run_action(self, index: int, frame: Frame) -> int:
        """Runs an action.  Before, compares the values that it reads; afterwards, all values whose last writer has run."""
        frame.run.control.check()
        for held in self.held.before.pop(index, ()):
            self.check_tensor(held, self.held.last_writer(held.tensor.buffer, index))
        following = super().run_action(index, frame)
        action = self.native.program.actions[index]
        self.bound += isinstance(action, BindSizes)
        if isinstance(action, FallbackOp):
            for value in action.node.outputs:
                if value in frame.values:
                    self.check(value.name, as_plain_value(frame.values[value]), index)
        for number in sorted(number for number in self.held.after if number < following):
            for held in self.held.after.pop(number):
                self.check_tensor(held, number)
        return following

    def check_tensor(self, held: HeldValue, writer: int | None) -> None:
        """Compares the elements of a tensor with the value that it must hold."""
        value, tensor = held.value, held.tensor
        if value.producer is None:
            return
        dims = (*tensor.shape, *tensor.strides, tensor.offset, tensor.buffer.size)
        if max(stage_of(dim, self.native.stages) for dim in dims) > self.bound:
            self.fail(value.name, UNBOUND, writer)
        self.check(value.name, self.memory.view(tensor).copy(), writer)

    def check(self, name: str, actual: RuntimeValue, writer: int | None) -> None:
        """Compares a value with its earlier elements if it is known, else with the local reference; then it is known."""
        if name in self.known:
            if difference(actual, self.known[name], 0.0):
                self.fail(name, OVERWRITTEN, writer)
            return
        comparison = self.graph.compare(name, actual, self.known)
        if comparison is not None and not comparison.agrees:
            raise WrongValue(Fault(comparison, self.describe(writer)))
        self.known[name] = actual

    def fail(self, name: str, why: str, writer: int | None) -> NoReturn:
        comparison = ValueComparison(name, self.graph.location(name), 0.0, 0.0, 0.0, (0, 0), why)
        raise WrongValue(Fault(comparison, self.describe(writer)))

    def describe(self, number: int | None) -> str:
        """An action as `sardonyx run --show steps` prints it: its number, its kernel and its nodes."""
        if number is None:
            return ""
        action = self.native.program.actions[number]
        return f"step {number}, {action_kind(action)} ({action_name(action)})"
