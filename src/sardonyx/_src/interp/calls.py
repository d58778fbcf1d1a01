"""Execution of bodies with calls of functions: a stack of the bodies in progress replaces recursion in Python.

Calls may therefore be nested as deep as memory allows.  A "body" is the graph of a function or of a model.
"""

from __future__ import annotations

from sardonyx._src.interp.steps import TRANSLATED_ERRORS, CalledBody, NodeStep
from sardonyx._src.ops.api import RuntimeValue


class RunningBody:
    """A body that is being executed.

    remaining: the steps that are not executed yet.
    waiting: the step of the call whose results the body waits for, or None.
    inputs: the inputs of that call.
    """

    __slots__ = ("body", "inputs", "remaining", "waiting")

    def __init__(self, body: CalledBody) -> None:
        self.body, self.remaining = body, iter(body.steps)
        self.waiting: NodeStep | None = None
        self.inputs: list[RuntimeValue] = []

    def advance(self) -> RunningBody | None:
        """Executes the steps up to the next call of a function, and returns the called body; None at the end."""
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
        """Stores the results of the call that this body waits for."""
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
        finished = stack.pop()
        if not stack:
            return
        stack[-1].take_results(finished.body)
