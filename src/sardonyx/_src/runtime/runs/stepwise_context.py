"""Stepwise execution: a context that runs its program action by action, so that each can be timed or observed."""

from __future__ import annotations

from sardonyx._src.compile.executor import status
from sardonyx._src.compile.program import Step
from sardonyx._src.interp.run_state import Frame
from sardonyx._src.runtime.runs.execution_context import ExecutionContext


class StepwiseContext(ExecutionContext):
    """An execution context that returns to Python after every action."""

    def execute(self, frame: Frame) -> None:
        action, count = 0, len(self.native.program.actions)
        while action < count:
            action = self.run_action(action, frame)

    def run_action(self, index: int, frame: Frame) -> int:
        """Runs an action; returns the index of the next one."""
        action = self.native.program.actions[index]
        if isinstance(action, Step):
            return self.run_step(index)
        self.perform(action, frame)
        return index + 1

    def run_step(self, index: int) -> int:
        """Runs a kernel step; returns the index of the next action.

        The run loop executes a long step in slices of its units, and returns after each one: it is called until all are done.
        """
        block = self.memory.status
        # Unless long units are allowed, the run loop returns before them, and would never get past them.
        block[status.LONG_UNITS] = status.ALLOWED
        next_index = self.call_tape(index, index + 1)
        while block[status.RESUME_UNIT]:
            next_index = self.call_tape(index, index + 1)
        return next_index

    def call_tape(self, first: int, end: int) -> int:
        """Runs the records [first, end) of the tape, one for each action; returns the record that it reached (`tape.py`)."""
        memory = self.memory
        return self.native.pool.run(memory.slots_address, first, end, memory.scratch, memory.status_address)
