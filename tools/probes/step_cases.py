"""Cases of steps: those of the contracts of kernels (`tests/compile/contracts`), for kernels that small models do not have.

A contract makes the steps of a case with their operands and results.  Models have other kernels for small sizes, and kernels
that count results or divide a loop need the run loop, whereas steps are called one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

from compile.contracts.trial import Memories, Run, Trial
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.llvm.probe_process import FILLER
from sardonyx._src.compile.program import Buffer, Kernel, Step
from sardonyx._src.ir import Array

RUN = Run(at_end=True, poison=FILLER[0])  # memory without contents is as that of probes
Make = Callable[..., "Sequence[Step] | None"]


@dataclass(frozen=True)
class StepCase:
    """The steps of a contract, or of another function of a trial, and the values along its axes."""

    name: str
    make: Make
    axes: dict[str, Any]

    def prepare(self, target: Target) -> PreparedSteps:
        """The steps for a target; operands depend on the axes alone."""
        trial = Trial(target, seed=crc32(repr(self.axes).encode()))
        steps = self.make(trial, **self.axes)
        assert steps is not None, f"{self.name} must be a case that its contract has"
        return PreparedSteps(trial, steps)


@dataclass(frozen=True)
class PreparedSteps:
    """Steps for a target, in their order, and their operands."""

    trial: Trial
    steps: Sequence[Step]

    @property
    def inputs(self) -> set[Buffer]:
        return {tensor.buffer for tensor, _ in self.trial.inputs}

    @property
    def outputs(self) -> list[Buffer]:
        """The buffers that the steps write and that have no content before."""
        buffers = dict.fromkeys(result.tensor.buffer for result in self.trial.results)
        return [buffer for buffer in buffers if buffer not in self.inputs]

    def memories(self) -> Memories:
        """The memory of all buffers before the steps."""
        return self.trial.fill_memories(self.steps, RUN)

    def compute(self) -> list[Array]:
        """The bytes of the outputs; asserts that they are as the contract says."""
        memories = self.memories()
        for step in self.steps:
            self.trial.run_step(step, memories, RUN)
        results = [memories[buffer].bytes.copy() for buffer in self.outputs]
        self.trial.check_memories(memories, RUN)
        return results


def step_kernels(cases: Sequence[StepCase], target: Target) -> Iterator[Kernel]:
    """The kernels of cases for a target."""
    for case in cases:
        yield from (step.kernel for step in case.prepare(target).steps)
