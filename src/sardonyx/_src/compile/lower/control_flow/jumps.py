"""Jump steps: conditional jumps between the steps of a program, which implement Loop, Scan and If.

A loop consists of a loop step, which jumps past the body unless there is a first iteration; the body; and another
loop step, which jumps back to the body if there is another iteration.  Both loop steps run the same kernel.  An If
consists of a branch step, which jumps to the else branch unless the condition holds; the then branch; an
unconditional jump past the else branch; and the else branch.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from sardonyx._src.compile.codegen import I64, LLVMType, LLVMValue, MemoryLocation, Parameters, Target
from sardonyx._src.compile.codegen.kernel_builder import KernelBuilder
from sardonyx._src.compile.executor.status import (
    EXCEEDED_COUNT,
    EXCEEDED_LIMIT,
    FAULT,
    MAX_ITERATIONS,
    MAX_NODES,
    NODE_LIMIT,
    NODES_CALLED,
    STATUS_SLOTS,
    UNLIMITED,
)
from sardonyx._src.compile.program import Kernel, KernelArgument, Step, TensorView
from sardonyx._src.compile.program.steps.step import Jump
from sardonyx._src.ir.dims import Known

# Slots of a loop counter: the current iteration, the number of iterations after it, the entry of the current
# iteration in buffers of scan outputs, and whether these buffers have room for another entry.
COUNTER_SLOTS = 4
ITERATION, REMAINING, BUFFER_INDEX, HAS_CAPACITY = range(COUNTER_SLOTS)
TripCount = Known | TensorView  # a dim, or a tensor of one int64

LOOP = Parameters(
    "counter",
    "flag",
    "status",
    "trip_count",
    "num_nodes",
    "is_start",
    "limit",
    "must_iterate",
    "buffer_capacity",
)
CONDITIONAL_LOOP = LOOP + Parameters("condition")
INVALID = Parameters("status")
BRANCH = Parameters("flag", "status", "condition", "then_nodes", "else_nodes")


# --- loops -----------------------------------------------------------------------------------


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

    counter: [COUNTER_SLOTS], see `ITERATION`.
    flag: [1], scratch for the jump.
    trip_count: the maximum number of iterations.
    condition: a bool, whether there is another iteration; None if there is none, so that the trip count can be
        checked against the limit before the first iteration.
    num_nodes: the number of nodes in the body, by which an iteration counts.
    limit: the limit to report if there are too many iterations, `LOOP_LIMIT` or `SCAN_LIMIT`.
    partially_written: tensors of which each iteration writes a part, so that they are live from the first
        iteration on.
    must_iterate: whether zero iterations are a fault.
    buffer_capacity: entries of scan-output buffers; 0 for none.
    """
    status_block = replace(status, shape=(STATUS_SLOTS,))
    parameters = LOOP if condition is None else CONDITIONAL_LOOP
    args: tuple[KernelArgument, ...] = parameters.pack(
        counter=counter,
        flag=flag,
        status=status_block,
        trip_count=UNLIMITED if trip_count is None else trip_count,
        num_nodes=0 if distance > 0 else num_nodes,
        is_start=int(distance > 0),
        limit=limit,
        must_iterate=int(must_iterate),
        buffer_capacity=buffer_capacity,
        **({} if condition is None else {"condition": condition}),
    )
    kernel = loop_kernel(isinstance(trip_count, TensorView), condition is not None, buffer_capacity > 0)
    reads = tuple(operand for operand in (trip_count, condition) if isinstance(operand, TensorView))
    writes = (counter, flag, status_block, *partially_written)
    return Step(kernel, args, 1, reads, writes, jump=Jump(flag, distance))


def loop_kernel(has_trip_tensor: bool, has_condition: bool, has_capacity: bool) -> Kernel:
    """The kernel of loop steps.

    has_trip_tensor: whether the trip count is a tensor, and not a number.
    has_condition: whether there is a condition.
    has_capacity: whether there are buffers of scan outputs.
    """
    name_parts = (
        "turn",
        "tensor" if has_trip_tensor else "number",
        *(("if",) if has_condition else ()),
        *(("room",) if has_capacity else ()),
    )
    module = partial(loop_module, variant=(has_trip_tensor, has_condition, has_capacity))
    return Kernel("_".join(name_parts), module, CONDITIONAL_LOOP if has_condition else LOOP)


def loop_module(name: str, target: Target, variant: tuple[bool, bool, bool]) -> str:
    """The kernel counts an iteration, checks the limits, and sets the flag of the jump.

    variant: the arguments of `loop_kernel`.
    """
    has_trip_tensor, has_condition, has_capacity = variant
    b = KernelBuilder(target, CONDITIONAL_LOOP if has_condition else LOOP)
    status, counter, flag = b.pointers("status", "counter", "flag")
    trip_count = load_at(b, b.pointer("trip_count"), 0) if has_trip_tensor else b.integer("trip_count")
    is_start = b.integer("is_start").ne(0)
    iteration = advance_counter(b, counter, is_start, trip_count)
    if has_capacity:
        advance_buffer_index(b, counter, iteration)
    condition = iteration < trip_count
    if has_condition:
        condition = condition & load_bool(b, "condition")
    count_nodes(b, status, b.integer("num_nodes"))
    check_iterations(b, status, condition, iteration + 1 if has_condition else trip_count)
    with b.if_then(b.integer("must_iterate").ne(0) & condition.eq(0)):
        store_at(b, status, FAULT, iteration * 0 + 1)
    condition = condition & load_at(b, status, FAULT).eq(0)
    store_at(b, flag, 0, (condition ^ is_start).convert("zext", "i64"))
    return b.build_module(name)


def advance_counter(b: KernelBuilder, counter: str, is_start: LLVMValue, trip_count: LLVMValue) -> LLVMValue:
    """The number of the next iteration, stored with the number of iterations after it."""
    iteration = b.select(is_start, -1, load_at(b, counter, ITERATION)) + 1
    store_at(b, counter, ITERATION, iteration)
    store_at(b, counter, REMAINING, trip_count - iteration - 1)
    return iteration


def advance_buffer_index(b: KernelBuilder, counter: str, iteration: LLVMValue) -> None:
    """Stores the entry of an iteration in the buffers of scan outputs, and whether they have one left after it."""
    capacity = b.integer("buffer_capacity")
    _, index = b.udivmod(iteration, capacity)
    store_at(b, counter, BUFFER_INDEX, index)
    store_at(b, counter, HAS_CAPACITY, (index + 1).ne(capacity).convert("zext", "i64"))


def check_iterations(b: KernelBuilder, status: str, condition: LLVMValue, count: LLVMValue) -> None:
    """Records an exceeded limit if there is another iteration, so that at least `count` iterations are executed in total."""
    is_exceeded = condition & (count > load_at(b, status, MAX_ITERATIONS))
    record_limit(b, status, is_exceeded, b.integer("limit"), count)


# --- branches --------------------------------------------------------------------------------


def branch_step(
    flag: TensorView, status: TensorView, condition: TensorView, num_nodes: tuple[int, int], distance: int
) -> Step:
    """The step that jumps to the else branch unless the condition holds; num_nodes: nodes called by either branch."""
    status_block = replace(status, shape=(STATUS_SLOTS,))
    then_nodes, else_nodes = num_nodes
    args: tuple[KernelArgument, ...] = BRANCH.pack(
        flag=flag, status=status_block, condition=condition, then_nodes=then_nodes, else_nodes=else_nodes
    )
    return Step(BRANCH_KERNEL, args, 1, (condition,), (flag, status_block), jump=Jump(flag, distance))


def branch_module(name: str, target: Target) -> str:
    """The kernel counts the nodes of the branch taken, and sets the flag of the jump."""
    b = KernelBuilder(target, BRANCH)
    status, takes_then = b.pointer("status"), load_bool(b, "condition")
    store_at(b, b.pointer("flag"), 0, takes_then.eq(0).convert("zext", "i64"))
    count_nodes(b, status, b.select(takes_then, b.integer("then_nodes"), b.integer("else_nodes")))
    return b.build_module(name)


def fault_step(status: TensorView, unwritten: tuple[TensorView, ...]) -> Step:
    """The step of a branch that no valid run takes: it records a fault; unwritten: the results of the branch."""
    status_block = replace(status, shape=(STATUS_SLOTS,))
    return Step(FAULT_KERNEL, INVALID.pack(status=status_block), 1, (), (status_block, *unwritten))


def fault_module(name: str, target: Target) -> str:
    b = KernelBuilder(target, INVALID)
    store_at(b, b.pointer("status"), FAULT, b.constant(1, I64))
    return b.build_module(name)


def jump_step(true_flag: TensorView, distance: int) -> Step:
    """An unconditional jump; true_flag: [1], int64, not 0."""
    return Step(EMPTY_KERNEL, (), 0, (true_flag,), (), jump=Jump(true_flag, distance))


def empty_module(name: str, target: Target) -> str:
    return KernelBuilder(target).build_module(name)


BRANCH_KERNEL = Kernel("branch", branch_module, BRANCH)
FAULT_KERNEL = Kernel("fault", fault_module, INVALID)
EMPTY_KERNEL = Kernel("nothing", empty_module)
ALWAYS_TAKEN = np.ones(1, np.int64)


# --- the status block (`executor.status`) ----------------------------------------------------


def count_nodes(b: KernelBuilder, status: str, count: LLVMValue) -> None:
    """Adds to the number of nodes called, and checks it against the limit."""
    total = load_at(b, status, NODES_CALLED) + count
    store_at(b, status, NODES_CALLED, total)
    is_exceeded = total > load_at(b, status, MAX_NODES)
    record_limit(b, status, is_exceeded, b.constant(NODE_LIMIT, I64), total)


def record_limit(
    b: KernelBuilder, status: str, condition: LLVMValue, limit: LLVMValue, count: LLVMValue
) -> None:
    """Records an exceeded limit if the condition holds, unless a fault is recorded already."""
    with b.if_then(condition & load_at(b, status, FAULT).eq(0)):
        store_at(b, status, FAULT, b.constant(1, I64))
        store_at(b, status, EXCEEDED_LIMIT, limit)
        store_at(b, status, EXCEEDED_COUNT, count)


def load_at(b: KernelBuilder, base: str, index: int) -> LLVMValue:
    """The i64 in a slot."""
    return b.load(slot_at(b, base, index))


def store_at(b: KernelBuilder, base: str, index: int, value: LLVMValue) -> None:
    b.store(slot_at(b, base, index), value)


def slot_at(b: KernelBuilder, base: str, index: int) -> MemoryLocation:
    return MemoryLocation(b.gep(base, b.constant(index, I64), "i64"), I64)


def load_bool(b: KernelBuilder, name: str) -> LLVMValue:
    """The bool that a parameter points to."""
    return b.load(MemoryLocation(b.pointer(name), LLVMType("i8"))).ne(0)
