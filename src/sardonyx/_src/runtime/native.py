"""The native engine: a compiled program, the memory that its runs take place in, and the runs."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy import empty

from sardonyx._src.compile import sizes as sizes_of
from sardonyx._src.compile import status
from sardonyx._src.compile.entry import DONE, FAULT, READY
from sardonyx._src.compile.layout import ARENA, STATUS, WORDS, Base, laid_out
from sardonyx._src.compile.llvm.jit import host
from sardonyx._src.compile.plan import LINE, planned
from sardonyx._src.compile.pool_words import JUMP, RECORD
from sardonyx._src.compile.program import Action, Collect, HostCall, Program, Upload
from sardonyx._src.compile.step import Step
from sardonyx._src.compile.tensor import Storage, Tensor
from sardonyx._src.interp.steps import Frame, Random, Run
from sardonyx._src.ir.dims import Known, evaluate
from sardonyx._src.ir.graph import Model, Value
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import RunLimits, RuntimeValue
from sardonyx._src.runtime.again import Ready, can_repeat, ready
from sardonyx._src.runtime.collected import Collected
from sardonyx._src.runtime.host import Host, held
from sardonyx._src.runtime.limits import Unfit, begin, refuse_passed
from sardonyx._src.runtime.loading import SizesOf, Words, fixed_bases
from sardonyx._src.runtime.pool import shared

if TYPE_CHECKING:
    from sardonyx._src.runtime.memory_plan import MemoryPlan


class NativeProgram:
    """A program in this process: its kernels loaded, its words laid out; runs may go on side by side."""

    def __init__(self, program: Program, threads: int | None = None) -> None:
        self.program = program
        self.plan = planned(program)
        self.layout = laid_out(program, self.plan)
        sizes = SizesOf(program, self.layout)
        self.host = Host(program, lambda inner: NativeProgram(compile_model(inner), threads))
        self.pool = shared(threads)
        self.fixed = np.array([v if isinstance(v, int) else 0 for v in self.layout.values], np.int64)
        self.base_of = np.array(self.layout.bases, np.int64)
        self.varying = np.flatnonzero([not isinstance(v, int) for v in self.layout.values])
        self.bases = fixed_bases(self.layout)
        self.ports = ports(self.layout.others, self.base_of)
        self.sizes = sizes.function()
        self.idle: deque[Context] = deque()
        self.fed = tuple(value.name for value in program.model.graph.inputs)
        self.handed_out = tuple(value.name for value in program.outputs)
        self.can_repeat = can_repeat(self)

    @property
    def has_loops(self) -> bool:
        """Whether nodes of subgraphs are among its steps, which runs count as they come to them.

        It is not kept: an attribute that comes late makes Python look up all others more slowly, in every run.
        """
        return bool(self.fixed[JUMP : len(self.program.actions) * RECORD : RECORD].any())

    def run(
        self, feeds: Mapping[str, RuntimeValue], limits: RunLimits, rng: Random
    ) -> dict[str, RuntimeValue]:
        """The outputs by name, for feeds that fit the inputs; raises Unfit, or what kernels of the host raise."""
        return self.run_in(feeds, Run(limits, rng))

    def run_in(self, feeds: Mapping[str, RuntimeValue], run: Run) -> dict[str, RuntimeValue]:
        """`run`, in a run that may be under way already."""
        try:
            context = self.idle.pop()
        except IndexError:
            context = Context(self)
        try:
            return context.run(feeds, run)
        finally:
            self.idle.append(context)

    def within(self, feeds: Mapping[str, RuntimeValue], run: Run) -> dict[str, RuntimeValue] | None:
        """The outputs of a subgraph in a run that is under way; None for feeds that the program is not for."""
        try:
            found = self.run_in(feeds, run)
        except Unfit:
            return None
        self.approve(feeds)
        return found

    def again(self, feeds: object) -> dict[str, RuntimeValue] | None:
        """The outputs for feeds that are like those of runs that were approved; None for any others."""
        try:
            context = self.idle.pop()
        except IndexError:
            return None
        try:
            ready = context.ready
            if ready is None or type(feeds) is not dict or len(feeds) != len(self.fed):
                return None
            made = [empty(shape, dtype) for shape, dtype in ready.results]
            done = ready.enter(*map(feeds.get, self.fed), *made)
            if done == READY:
                done = context.finish()
            return dict(zip(self.handed_out, made, strict=True)) if done == DONE else None
        finally:
            self.idle.append(context)

    def approve(self, feeds: Mapping[str, RuntimeValue]) -> None:
        """Says that feeds of these dims and what came of them are as the model declares."""
        if not self.can_repeat:
            return
        try:
            context = self.idle.pop()
        except IndexError:
            return
        try:
            if context.lengths == self.lengths(feeds):
                context.approve()
        finally:
            self.idle.append(context)

    def memory_plan(self, lengths: Mapping[str, int]) -> MemoryPlan:
        """What memory runs of these lengths take; raises InputError for those that no run has."""
        from sardonyx._src.runtime.memory_plan import memory_plan  # which few sessions need

        return memory_plan(self.program, self.plan, self.layout, self.pool.threads, lengths)

    def lengths(self, feeds: Mapping[str, RuntimeValue]) -> tuple[int, ...]:
        """The lengths of inputs that a program's sizes depend on."""
        return tuple(length_of(feeds[name], axis) for name, axis in self.program.sizes.values())


class Context:
    """What one run at a time has for itself: words, an arena, scratch."""

    def __init__(self, native: NativeProgram) -> None:
        self.native = native
        self.words = native.fixed.copy()
        self.bases = native.bases.copy()
        self.status = np.zeros(status.WORDS, np.int64)
        self.bases[WORDS], self.bases[STATUS] = self.words.ctypes.data, self.status.ctypes.data
        self.lengths: tuple[int, ...] | None = None
        self.ready: Ready | None = None
        self.approved = 0  # runs of these lengths
        self.known: dict[str, int] = {}
        self.arena = np.empty(0, np.uint8)
        self.scratch = native.pool.scratch(0)
        self.values = native.fixed
        self.fed: dict[Storage, Array] = {}
        self.collected = Collected()
        self.views: dict[tuple[Tensor, bool], Array] = {}  # of the arena, for these lengths

    def bind(self, lengths: tuple[int, ...], limit: int) -> None:
        """Works out sizes and places for these lengths of the inputs; limit: bytes that nothing may be larger than."""
        native = self.native
        self.ready, self.approved = None, 0
        self.lengths = None  # until all is in place: this may be interrupted
        found, arena, scratch, faults = native.sizes(lengths)
        if faults or arena > limit:
            raise Unfit
        values = native.fixed.copy()
        values[native.varying] = found
        self.views.clear()
        self.arena = enough(self.arena, arena)
        if scratch > self.scratch.stride:
            self.scratch = native.pool.scratch(scratch)
        self.bases[ARENA] = start(self.arena)
        self.values = values
        self.words[:] = values + self.bases[native.base_of]
        self.known = dict(zip(native.program.sizes, lengths, strict=True))
        self.lengths = lengths

    def run(self, feeds: Mapping[str, RuntimeValue], run: Run) -> dict[str, RuntimeValue]:
        native, program = self.native, self.native.program
        lengths = native.lengths(feeds)
        if lengths != self.lengths:
            self.bind(lengths, run.limits.bytes)
        frame = native.host.frame(run)
        for value in program.model.graph.inputs:
            self.feed(value, feeds.get(value.name), frame)
        results = {v: self.hand_out(tensor, run.limits.bytes) for v, tensor in program.outputs.items()}
        begin(self.status, run)
        try:
            self.execute(frame)
        finally:
            self.fed.clear()
            self.collected.clear()
        run.nodes = int(self.status[status.NODES])
        if self.status[status.FAULT]:
            refuse_passed(self.status, run.limits)
            raise Unfit
        return {
            v.name: frame[v] if (found := results[v]) is None else found for v in program.model.graph.outputs
        }

    def approve(self) -> None:
        """Makes runs of these lengths quick, once there was more than one."""
        self.approved += 1
        if self.approved > 1 and self.ready is None:
            self.ready = ready(self)

    def finish(self) -> int:
        """Runs what is left of the tape, all of whose words are in place."""
        pool, tape, at = self.native.pool, self.words.ctypes.data, int(self.status[status.AT])
        count = len(self.native.program.actions)
        while at < count:
            at = pool.run(tape, at, count, self.scratch)
        return FAULT if self.status[status.FAULT] else DONE

    def feed(self, value: Value, fed: RuntimeValue, frame: Frame) -> None:
        tensor = self.native.program.inputs.get(value)
        if tensor is not None and isinstance(fed, np.ndarray):
            self.point(tensor.storage, np.require(fed, requirements=("C", "ALIGNED")))
        else:
            frame.values[value] = fed

    def hand_out(self, tensor: Tensor | None, limit: int) -> Array | None:
        """A new array for an output."""
        if tensor is None:
            return None
        shape = self.shape(tensor)
        if math.prod(shape) * tensor.dtype.numpy.itemsize > limit:
            raise Unfit
        array: Array = np.empty(shape, tensor.dtype.numpy)
        self.point(tensor.storage, array)
        return array

    def point(self, storage: Storage, array: Array) -> None:
        """Makes the words that stand for a caller's array point into it."""
        self.fed[storage] = array
        at = self.native.ports.get(storage)
        if at is not None:
            self.words[at] = self.values[at] + array.ctypes.data

    def execute(self, frame: Frame) -> None:
        """Runs the tape; where it stops before its end the host has something to do, or Python may handle signals."""
        actions, pool = self.native.program.actions, self.native.pool
        tape, at = self.words.ctypes.data, 0
        while (at := pool.run(tape, at, len(actions), self.scratch)) < len(actions):
            if not isinstance(actions[at], Step):
                self.act(actions[at], frame)
                at += 1

    def act(self, action: Action, frame: Frame) -> None:
        """Does what the host has to do."""
        if isinstance(action, HostCall):
            taken = {v: self.view(tensor) for v, tensor in action.takes.items()}
            frame.run.nodes = int(self.status[status.NODES])
            self.native.host.call(action.node, taken, frame)
            self.status[status.NODES] = frame.run.nodes
        elif isinstance(action, Collect):
            slices = {value: self.view(tensor) for value, tensor in action.buffers.items()}
            self.collected.take(slices, int(self.view(action.turns)[0]), frame, is_last=action.is_last)
        else:
            assert isinstance(action, Upload), f"the tape stopped at {action!r}"
            value, shape = action.value, self.shape(action.tensor)
            if is_other_nothing(frame[value], shape):
                raise Unfit  # a loop in which nothing has run leaves dims that nobody knows
            array = held(frame[value], shape, action.tensor.dtype.numpy, value.producer)
            self.view(action.tensor, writeable=True)[...] = array

    def view(self, tensor: Tensor, *, writeable: bool = False) -> Array:
        """The elements of a tensor where they are."""
        if tensor.storage.role != "arena":
            return self.fresh_view(tensor, writeable=writeable)
        found = self.views.get((tensor, writeable))
        if found is None:
            found = self.views[tensor, writeable] = self.fresh_view(tensor, writeable=writeable)
        return found

    def fresh_view(self, tensor: Tensor, *, writeable: bool) -> Array:
        width, shape = tensor.dtype.numpy.itemsize, self.shape(tensor)
        if 0 in shape:
            return np.empty(shape, tensor.dtype.numpy)  # what begins behind the end of nothing has no memory
        strides = tuple(self.number(stride) * width for stride in tensor.strides)
        memory, offset = self.memory(tensor.storage)
        offset += self.number(tensor.offset) * width
        array: Array = np.ndarray(shape, tensor.dtype.numpy, memory, offset, strides)
        array.flags.writeable = writeable
        return array

    def memory(self, storage: Storage) -> tuple[Array, int]:
        """The bytes that a storage lies in, and where in them it begins."""
        if storage.role == "arena":
            first = start(self.arena) - self.arena.ctypes.data
            plan = self.native.plan
            if storage in plan.offsets:
                return self.arena, first + plan.offsets[storage]
            return self.arena, first + self.slot_starts()[plan.slot_of[storage]]
        found = storage.data if storage.role == "constant" else self.fed[storage]
        assert found is not None, f"{storage.name} has no data"
        return found, 0

    def slot_starts(self) -> list[int]:
        starts, total = [], self.native.plan.size
        for slot in self.native.plan.slots:
            starts.append(total)
            total += sizes_of.largest(self.known, (tenant.size for tenant in slot.tenants))
        return starts

    def shape(self, tensor: Tensor) -> tuple[int, ...]:
        return tuple(self.number(dim) for dim in tensor.shape)

    def number(self, dim: Known) -> int:
        found = evaluate(dim, self.known)
        assert found is not None, f"{dim} is not decided by {sorted(self.known)}"
        return found


def is_other_nothing(value: RuntimeValue, shape: tuple[int, ...]) -> bool:
    """Whether a value has no elements, and other dims than these."""
    return isinstance(value, np.ndarray) and value.size == 0 and value.shape != shape


def length_of(value: RuntimeValue, axis: int) -> int:
    assert isinstance(value, np.ndarray), "the length of no tensor is asked for"
    return int(value.shape[axis])


def ports(others: Mapping[Base, int], base_of: Words) -> dict[Storage, Words]:
    """Where in the words the addresses of a caller's arrays stand."""
    return {
        of: np.flatnonzero(base_of == index)
        for of, index in others.items()
        if isinstance(of, Storage) and of.role in ("input", "output")
    }


def enough(memory: Array, size: int) -> Array:
    """Memory of at least that size, and room to begin at a cache line; the old one if it is.

    It grows by half at least: lengths that grow from run to run take new memory now and then.
    """
    wanted = size + LINE
    return memory if memory.size >= wanted else np.empty(max(wanted, memory.size * 3 // 2), np.uint8)


def start(memory: Array) -> int:
    return -(-memory.ctypes.data // LINE) * LINE


def compile_model(model: Model) -> Program:
    """The program of a model, for callers who override no initializer."""
    # Imported here because saved programs do without what compiles others, which takes time to load.
    from sardonyx._src.compile.lowering import Lowering
    from sardonyx._src.compile.prepare import prepared
    from sardonyx._src.runtime.helped import prepare_runner

    ready, target = prepared(model), host()
    prepare_runner(target)
    return Lowering(ready, target).program()
