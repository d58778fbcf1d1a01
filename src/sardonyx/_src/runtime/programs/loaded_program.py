"""A compiled program as it is loaded into this process: code, constants, and the slots that every run copies."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sardonyx._src.compile.executor.pool_layout import JUMP, RECORD_SLOTS
from sardonyx._src.compile.program import Buffer
from sardonyx._src.compile.program.memory.arena import MemoryPlan
from sardonyx._src.compile.program.steps.assumptions import Assumption
from sardonyx._src.compile.program.steps.program import COUNT_AXIS, FallbackOp, Program, stage_of
from sardonyx._src.io.map_guard import MapGuard
from sardonyx._src.ops.run_values import RuntimeValue
from sardonyx._src.runtime.fallbacks.fallback_ops import FallbackRunner
from sardonyx._src.runtime.limits.run_limits import NEGATIVE_COUNT, Bailout
from sardonyx._src.runtime.limits.thread_pool import ThreadPool
from sardonyx._src.runtime.programs.relocations import SizeFunction, Slots
from sardonyx._src.runtime.programs.stats import RunCounters


class LoadedProgram:
    """The data of a program that all of its runs share.

    fallback: runs the reference kernels of fallback ops.
    pool: the threads that execute kernels.
    fixed_slots: the values of slots that do not depend on input sizes, and 0 for the others.
    varying_slots: the indices of the slots that depend on input sizes.
    base_indices: for each slot, the index in `bases` of the address that is added to its value.
    bases: the base addresses.
    relocations: for each array of the caller, the slots that point into it.
    stages: the stage at which the size of each symbol is known.
    bindings: for each binding of sizes, the stage that it completes.
    observations: the branches and ranks of fallback ops that a run can observe, and a program can be specialized for.
    observed: the branches and ranks that the last run has observed.
    size_function: computes varying slots and the bytes of arena and scratch from input sizes, and counts failed guards.
    map_guard: guards the mapped files that hold constants.
    has_fast_path: whether repeated runs may enter native code directly.
    has_sized_path: whether these runs may have sizes that no run had before.
    calls_fallback_ops: whether runs on the fast path call fallback ops.
    """

    fallback: FallbackRunner
    pool: ThreadPool
    fixed_slots: Slots
    base_indices: Slots
    varying_slots: Slots
    bases: Slots
    relocations: dict[Buffer, Slots]
    size_function: SizeFunction
    has_fast_path: bool
    has_sized_path: bool
    calls_fallback_ops: bool
    map_guard: MapGuard

    def initialize(self, program: Program, plan: MemoryPlan, counters: RunCounters | None) -> None:
        """Sets the attributes that do not depend on the origin of the code: compiled now, or read from a file."""
        self.program, self.plan = program, plan
        self.counters = counters or RunCounters()
        self.cancellation = self.counters.cancellation
        self.observations = program.observations
        self.observed: frozenset[Assumption] = frozenset()
        self.stages = stages = program.stages
        self.symbol_indices = {name: i for i, name in enumerate(stages)}
        self.bindings = {action: i + 1 for i, action in enumerate(program.bindings)}
        self.output_stages = {
            value: 0 if tensor is None else max((stage_of(dim, stages) for dim in tensor.shape), default=0)
            for value, tensor in program.outputs.items()
        }
        self.input_names = tuple(value.name for value in program.model.graph.inputs)
        self.output_names = tuple(value.name for value in program.outputs)

    @property
    def has_loops(self) -> bool:
        """Whether the tape has jumps: loops or branches, so that a run may execute a step any number of times.

        Not cached: an attribute that is added after construction slows every other attribute access in CPython.
        """
        return bool(self.fixed_slots[JUMP : len(self.program.actions) * RECORD_SLOTS : RECORD_SLOTS].any())

    @property
    def fallback_nodes(self) -> int:
        """The number of nodes that run as reference kernels."""
        return sum(isinstance(action, FallbackOp) for action in self.program.actions)

    def input_sizes(self, feeds: Mapping[str, RuntimeValue]) -> tuple[int, ...]:
        """The sizes of fed arrays, and fed counts, on which slots depend, in the order of the program's symbols."""
        return tuple(dim_size(feeds[name], axis) for name, axis in self.program.sizes.values())


def dim_size(value: RuntimeValue, axis: int) -> int:
    """The length of an axis, or the fed count; raises Bailout for a negative one."""
    assert isinstance(value, np.ndarray), "only tensors have sizes"
    if axis != COUNT_AXIS:
        return int(value.shape[axis])
    count = int(value.item())
    if count < 0:
        raise Bailout(NEGATIVE_COUNT)
    return count
