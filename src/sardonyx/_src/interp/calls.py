"""Execution of bodies whose nodes call functions, with a stack of the bodies in progress: calls may be nested as deep as memory allows."""

from __future__ import annotations

from sardonyx._src.interp.steps import TRANSLATED_ERRORS, CalledBody, NodeStep
from sardonyx._src.ops.api import RuntimeValue


class RunningBody:
    """A body that is being executed: the steps that are left, and the call that it waits for."""

    __slots__ = ("body", "inputs", "remaining", "waiting")

    def __init__(self, body: CalledBody) -> None:
        self.body, self.remaining = body, iter(body.steps)
        self.waiting: NodeStep | None = None
        self.inputs: list[RuntimeValue] = []  # of the call

    def advance(self) -> RunningBody | None:
        """Executes the steps up to the next call of a function, which is returned; None at the end of the body."""
        frame = self.body.frame
        for step in self.remaining:
            if step.enter is None:
                step.execute(frame)
                continue
            self.waiting, self.inputs = step, step.take_inputs(frame)
            try:
                return RunningBody(step.enter(frame, self.inputs))
            except TRANSLATED_ERRORS as error:
                step.raise_translated(error, self.inputs)
        return None

    def take_results(self, callee: CalledBody) -> None:
        """Stores the results of the call."""
        step, self.waiting = self.waiting, None
        assert step is not None, "no step waits for a call"
        try:
            results = callee.results()
        except TRANSLATED_ERRORS as error:
            step.raise_translated(error, self.inputs)
        step.store_results(self.body.frame, self.inputs, tuple(results))
        self.inputs = []


def execute_body(body: CalledBody) -> None:
    """Executes the steps of a body, and those of the functions that they call."""
    stack = [RunningBody(body)]
    while True:
        callee = stack[-1].advance()
        if callee is not None:
            stack.append(callee)
            continue
        over = stack.pop()
        if not stack:
            return
        stack[-1].take_results(over.body)
