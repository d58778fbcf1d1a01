"""Jump steps: conditional jumps between the steps of a program, which implement Loop, Scan and If.

A loop is a loop step that jumps past the body unless there is a first iteration, the body, and a loop step that jumps
back to the body if there is another one; both run the same kernel.  A branch is a step that jumps to the else branch
unless the condition holds, and an unconditional jump past the else branch at the end of the then branch.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from sardonyx._src.compile.codegen.blocks import StackSlot
from sardonyx._src.compile.codegen.builder import LLVMType, LLVMValue
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.codegen.target import Target
from sardonyx._src.compile.executor.status import (
    EXCEEDED_COUNT,
    EXCEEDED_LIMIT,
    FAULT,
    LOOP_LIMIT,
    MAX_ITERATIONS,
    MAX_NODES,
    NODE_LIMIT,
    NODES_CALLED,
    SCAN_LIMIT,
    STATUS_SLOTS,
    UNLIMITED,
)
from sardonyx._src.compile.program.step import Jump, Kernel, Step
from sardonyx._src.compile.program.tensor import TensorView
from sardonyx._src.ir.dims import Known

# Slots of a loop counter: the current iteration, the number of iterations after it, the entry of this iteration in
# buffers of scan outputs, and whether these buffers have an entry left after it.
ITERATION, REMAINING, BUFFER_INDEX, HAS_CAPACITY = range(4)
TripCount = Known | TensorView  # a dim, or a tensor of one int64


def loop_step(
    counter: TensorView,
    flag: TensorView,
    status: TensorView,
    trip_count: TripCount | None,
    condition: TensorView | None,
    num_nodes: int,
    distance: int,
    limit: int,
    partially_written: tuple[TensorView, ...] = (),
    *,
    must_iterate: bool = False,
    buffer_capacity: int = 0,
) -> Step:
    """The step that starts a loop (distance > 0: past the body), or ends an iteration (distance < 0: back to the body).

    counter: [4], see `ITERATION`.  flag: [1], scratch for the jump.  trip_count: the maximum number of iterations.
    condition: a bool, whether there is another iteration.  num_nodes: nodes called by an iteration.  limit: `LOOP_LIMIT`,
    or `SCAN_LIMIT` for a loop whose iterations are checked against the limit before the first.
    partially_written: tensors that each iteration writes a part of, which are therefore live from the first iteration on.
    must_iterate: whether zero iterations are a fault.  buffer_capacity: entries of scan-output buffers; 0 for none.
    """
    status_block = replace(status, shape=(STATUS_SLOTS,))
    variant = (isinstance(trip_count, TensorView), condition is not None, buffer_capacity > 0)
    name_parts = (
        "tensor" if variant[0] else "number",
        "if" if variant[1] else "",
        "room" if variant[2] else "",
    )
    kernel = Kernel("_".join(("turn", *filter(None, name_parts))), partial(loop_source, variant=variant))
    is_start = distance > 0
    numbers = (
        0 if is_start else num_nodes,
        int(is_start),
        int(limit == SCAN_LIMIT),
        int(must_iterate),
        buffer_capacity,
    )
    args = (
        counter,
        flag,
        status_block,
        UNLIMITED if trip_count is None else trip_count,
        *numbers,
        *([] if condition is None else [condition]),
    )
    reads = tuple(operand for operand in (trip_count, condition) if isinstance(operand, TensorView))
    return Step(
        kernel, args, 1, reads, (counter, flag, status_block, *partially_written), jump=Jump(flag, distance)
    )


def loop_source(name: str, target: Target, variant: tuple[bool, bool, bool]) -> str:
    """args: counter, flag, status, trip count, number of nodes, is start, is scan, must iterate, buffer capacity, and the
    condition if there is one.  variant: whether the trip count is a tensor, there is a condition, and a capacity."""
    has_trip_tensor, has_condition, has_capacity = variant
    emitter = ControlFlowEmitter(target)
    counter, flag = emitter.pointer_argument(0), emitter.pointer_argument(1)
    trip_count = (
        emitter.load_at(emitter.pointer_argument(3), 0) if has_trip_tensor else emitter.size_argument(3)
    )
    is_start, is_scan = (emitter.size_argument(i).ne(0) for i in (5, 6))
    previous = emitter.select(is_start, -1, emitter.load_at(counter, ITERATION))
    iteration = previous + 1
    emitter.store_at(counter, ITERATION, iteration)
    emitter.store_at(counter, REMAINING, trip_count - iteration - 1)
    if has_capacity:
        buffer_capacity = emitter.size_argument(8)
        _, buffer_index = emitter.udivmod(iteration, buffer_capacity)
        emitter.store_at(counter, BUFFER_INDEX, buffer_index)
        emitter.store_at(counter, HAS_CAPACITY, (buffer_index + 1).ne(buffer_capacity).convert("zext", "i64"))
    condition = iteration < trip_count
    if has_condition:
        condition = condition & emitter.load_bool(9)
    emitter.count_nodes(emitter.size_argument(4))
    count = emitter.select(is_scan, trip_count, iteration)
    max_iterations = emitter.load_at(emitter.status, MAX_ITERATIONS) + is_scan.convert("zext", "i64")
    emitter.record_limit(
        condition & (count >= max_iterations),
        emitter.select(is_scan, SCAN_LIMIT, emitter.constant(LOOP_LIMIT, iteration.type)),
        count,
    )
    emitter.if_then_call(
        emitter.size_argument(7).ne(0) & condition.eq(0),
        lambda: emitter.store_at(emitter.status, FAULT, iteration * 0 + 1),
    )
    condition = condition & emitter.load_at(emitter.status, FAULT).eq(0)
    emitter.store_at(flag, 0, (condition ^ is_start).convert("zext", "i64"))
    return emitter.build_module(name)


def branch_step(
    flag: TensorView, status: TensorView, condition: TensorView, num_nodes: tuple[int, int], distance: int
) -> Step:
    """The step that jumps to the else branch unless the condition holds; num_nodes: nodes called by either branch."""
    status_block = replace(status, shape=(STATUS_SLOTS,))
    args = (flag, status_block, condition, *num_nodes)
    return Step(BRANCH_KERNEL, args, 1, (condition,), (flag, status_block), jump=Jump(flag, distance))


def branch_source(name: str, target: Target) -> str:
    """args: flag, status, condition, numbers of nodes of the then branch and of the else branch."""
    emitter = ControlFlowEmitter(target, status=1)
    takes_then = emitter.load_bool(2)
    emitter.store_at(emitter.pointer_argument(0), 0, takes_then.eq(0).convert("zext", "i64"))
    emitter.count_nodes(emitter.select(takes_then, emitter.size_argument(3), emitter.size_argument(4)))
    return emitter.build_module(name)


def jump_step(true_flag: TensorView, distance: int) -> Step:
    """An unconditional jump; true_flag: [1], int64, not 0."""
    return Step(EMPTY_KERNEL, (), 0, (true_flag,), (), jump=Jump(true_flag, distance))


class ControlFlowEmitter(KernelBuilder):
    """Emitter of kernels that read and write the status block (`executor.status`)."""

    def __init__(self, target: Target, status: int = 2) -> None:
        """status: the index of the argument that is the status block."""
        super().__init__(target)
        self.status = self.pointer_argument(status)

    def slot(self, base: str, index: int) -> StackSlot:
        return StackSlot(
            self.gep(base, self.constant(index, self.first_unit.type), "i64"), self.first_unit.type
        )

    def load_at(self, base: str, index: int) -> LLVMValue:
        return self.load(self.slot(base, index))

    def store_at(self, base: str, index: int, value: LLVMValue) -> None:
        self.store(self.slot(base, index), value)

    def load_bool(self, index: int) -> LLVMValue:
        """The bool that an argument points to."""
        return self.load(StackSlot(self.pointer_argument(index), LLVMType("i8"))).ne(0)

    def count_nodes(self, count: LLVMValue) -> None:
        """Adds to the number of nodes called, and checks it against the limit."""
        total = self.load_at(self.status, NODES_CALLED) + count
        self.store_at(self.status, NODES_CALLED, total)
        is_exceeded = total > self.load_at(self.status, MAX_NODES)
        self.record_limit(is_exceeded, self.constant(NODE_LIMIT, total.type), total)

    def record_limit(self, condition: LLVMValue, limit: LLVMValue, count: LLVMValue) -> None:
        """Records an exceeded limit if the condition holds, unless a fault is recorded already."""

        def record() -> None:
            self.store_at(self.status, FAULT, self.constant(1, count.type))
            self.store_at(self.status, EXCEEDED_LIMIT, limit)
            self.store_at(self.status, EXCEEDED_COUNT, count)

        self.if_then_call(condition & self.load_at(self.status, FAULT).eq(0), record)


def empty_source(name: str, target: Target) -> str:
    return KernelBuilder(target).build_module(name)


BRANCH_KERNEL = Kernel("branch", branch_source)
EMPTY_KERNEL = Kernel("nothing", empty_source)
ALWAYS_TAKEN = np.ones(1, np.int64)
