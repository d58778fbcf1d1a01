"""Runs whole programs step by step, with each buffer between guard pages.

While a step runs, the buffers that it declares as read are read-only, and undeclared ones are inaccessible:
a step that violates its declaration terminates the process.  In the checked build every access is validated,
and the first fault is reported.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from compile.checked_runs import Table, build
from compile.guarded import CACHE_BYTES, LIBC, PAGE, GuardedMemory, extent
from compile.kernel_objects import load_module
from compile.random_graphs import RandomModel
from compile.reference_agreement import assert_outputs_match
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.executor.pool_layout import RECORD_SLOTS, UNITS
from sardonyx._src.compile.llvm.jit import host_target
from sardonyx._src.compile.llvm.loaded_kernels import kernel_address
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.compile.program import Buffer, Kernel, KernelArgument, Step, TensorView
from sardonyx._src.compile.program.encoding import size_functions as sizes_of
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.compile.program.encoding.size_functions import evaluate_dim
from sardonyx._src.compile.program.steps.cached_count import CachedCount
from sardonyx._src.compile.program.steps.program import (
    Action,
    BindSizes,
    CollectScanOutputs,
    CopyIn,
    FallbackOp,
    Program,
)
from sardonyx._src.compile.program.steps.step import ArgumentSlot, RecordSlot, TensorAddress
from sardonyx._src.interp.run_state import Frame, RandomSource, RunState
from sardonyx._src.ir import Array
from sardonyx._src.ir.dims import Expr, Known
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.runtime.fallbacks.fallback_ops import FallbackRunner, check_result
from sardonyx._src.runtime.limits.run_limits import Bailout, reset_status
from sardonyx._src.runtime.runs.scan_outputs import ScanOutputs

NONE, READ, WRITE = 0, mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE
GARBAGE = 0xFF  # the bytes of uninitialized memory: NaN as floats, -1 as integers, not a bool
Arguments = NDArray[np.int64]
SLOT_BYTES = 8
Call = Callable[[int, int, int, int], None]
ARGUMENTS = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
CALL = ctypes.CFUNCTYPE(None, *ARGUMENTS)


@cache
def kernel_function(kernel: Kernel, target: Target | None) -> Call:
    """The function of a kernel; `target`: a target other than the processor's."""
    if target is None:
        return CALL(kernel_address(kernel))
    return load_module(kernel.source("kernel", target), ["kernel"]).function("kernel", *ARGUMENTS)


class GuardedBuffer(GuardedMemory):
    """The memory of a buffer; the rest of its pages is filled with a pattern that must not change."""

    def __init__(self, size: int, *, at_end: bool) -> None:
        super().__init__(size, at_end=at_end)
        count = len(self.map) - 2 * PAGE
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.map)) + PAGE
        self.pages = np.frombuffer(self.map, np.uint8, count, PAGE)
        self.pages[:] = GARBAGE
        self.padding = slice(0, count - size) if at_end else slice(size, count)

    def allow(self, rights: int) -> None:
        """Sets the access rights of the pages."""
        size = ctypes.c_size_t(len(self.pages))
        assert LIBC.mprotect(ctypes.c_void_p(self.base), size, rights) == 0, "mprotect failed"

    def has_intact_padding(self) -> bool:
        return bool((self.pages[self.padding] == GARBAGE).all())


def symbols_of(argument: KernelArgument) -> frozenset[str]:
    """The symbols that an argument depends on: a number, or the address of a tensor's first element."""
    size = argument.offset if isinstance(argument, TensorView) else argument
    return size.symbols() if isinstance(size, Expr) else frozenset()


class GuardedProgram:
    """The guarded buffers of a program in one run, with sizes from the lengths of its inputs."""

    def __init__(
        self, program: Program, lengths: Mapping[str, int], target: Target | None, *, at_end: bool, seed: int
    ) -> None:
        self.program, self.lengths, self.target, self.at_end = program, dict(lengths), target, at_end
        self.checks, self.scan_outputs = False, ScanOutputs()
        self.memories: dict[Buffer, GuardedBuffer] = {}
        self.arguments: dict[int, Arguments] = {}  # by action
        self.changed_slots: set[tuple[int, int]] = set()  # arguments that kernels store: action, and number
        self.moved_slots: set[tuple[int, int]] = set()  # those that follow the iterations of a loop
        self.records: dict[int, Arguments] = {}  # by action, what kernels store in them
        self.numbers = {id(action): i for i, action in enumerate(program.actions)}
        self.rng = np.random.default_rng(seed)

    def evaluate_dim(self, dim: Known) -> int:
        return dim if isinstance(dim, int) else evaluate_dim(dim, self.lengths)

    def bind(self, lengths: Mapping[str, int]) -> None:
        """Binds symbols; raises Bailout if one of them has another length already."""
        if any(self.lengths.get(name, length) != length for name, length in lengths.items()):
            raise Bailout("two results must have one size")
        self.lengths |= lengths

    def get_memory(self, buffer: Buffer) -> GuardedBuffer:
        """The memory of a buffer, allocated on first use."""
        memory = self.memories.get(buffer)
        if memory is None:
            memory = GuardedBuffer(max(self.evaluate_dim(buffer.size), 0), at_end=self.at_end)
            if buffer.data is not None:
                memory.bytes[:] = np.ascontiguousarray(buffer.data).reshape(-1).view(np.uint8)
            if buffer.role == "status":
                reset_status(memory.bytes.view(np.int64), RunState(RunLimits(), RandomSource(0)))
            memory.allow(NONE)
            self.memories[buffer] = memory
        return memory

    def write_tensor(self, tensor: TensorView, array: Array) -> None:
        memory = self.get_memory(tensor.buffer)
        memory.allow(WRITE)
        self.view_tensor(tensor)[...] = array
        memory.allow(NONE)

    def read_tensor(self, tensor: TensorView) -> Array:
        """A copy of the elements of a tensor."""
        self.get_memory(tensor.buffer).allow(READ)
        array = self.view_tensor(tensor).copy()
        self.get_memory(tensor.buffer).allow(NONE)
        return array

    def view_tensor(self, tensor: TensorView) -> Array:
        size = tensor.dtype.numpy.itemsize
        shape = tuple(self.evaluate_dim(dim) for dim in tensor.shape)
        strides = tuple(self.evaluate_dim(stride) * size for stride in tensor.strides)
        memory = self.get_memory(tensor.buffer).bytes
        if 0 in shape:
            return np.empty(shape, tensor.dtype.numpy)
        return np.ndarray(shape, tensor.dtype.numpy, memory, self.evaluate_dim(tensor.offset) * size, strides)

    def run_step(self, step: Step) -> None:
        """Runs the units of a step, in a random partition and order."""
        arguments = self.encode_arguments(self.numbers[id(step)])
        scratch = GuardedBuffer(max(self.evaluate_dim(step.scratch), 0), at_end=self.at_end)
        rights_of = {t.buffer: READ for t in step.reads} | {t.buffer: WRITE for t in step.writes}
        for buffer, rights in rights_of.items():
            self.get_memory(buffer).allow(rights)
        self.verify_units(step)
        for first, last in self.random_partition(self.evaluate_dim(step.units)):
            if self.checks:
                self.run_checked(step, arguments, rights_of, scratch, first, last)
            else:
                kernel_function(step.kernel, self.target)(arguments.ctypes.data, first, last, scratch.address)
        for buffer in rights_of:
            self.get_memory(buffer).allow(READ)
            assert self.get_memory(buffer).has_intact_padding(), (
                f"{step.nodes} write out of the bounds of {buffer.name}"
            )
            self.get_memory(buffer).allow(NONE)
        assert scratch.has_intact_padding(), f"{step.nodes} write out of the bounds of their scratch memory"
        if step.binds is not None:
            counts = step.binds.counts.items()
            self.lengths |= {name: int(self.read_tensor(count).item()) for name, count in counts}

    def verify_units(self, step: Step) -> None:
        """Asserts that the step that binds local sizes has stored the units of work."""
        if not self.program.local_symbols.isdisjoint(symbols_of(step.units)):
            stored = self.records[self.numbers[id(step)]][UNITS]
            assert stored == self.evaluate_dim(step.units), f"{step.nodes} have {stored} units"

    def next_distance(self, action: Action) -> int:
        """The distance in actions to the next action."""
        jump = action.jump if isinstance(action, Step) else None
        return 1 if jump is None or not self.read_tensor(jump.flag)[0] else jump.distance

    def run_checked(
        self,
        step: Step,
        arguments: Arguments,
        rights_of: Mapping[Buffer, int],
        scratch: GuardedBuffer,
        first: int,
        last: int,
    ) -> None:
        """Runs units of a step in the checked build: it may write only to the tensors that it declares as written."""
        table = Table()
        table.allow(arguments.ctypes.data, arguments.nbytes, writes=False)
        for address, argument in zip(arguments.tolist(), step.args, strict=False):
            if isinstance(argument, ArgumentSlot | RecordSlot):
                table.allow(address, SLOT_BYTES, writes=True)
        table.allow(scratch.address, len(scratch.bytes), writes=True)
        for buffer in rights_of:
            table.allow(self.get_memory(buffer).address, len(self.get_memory(buffer).bytes), writes=False)
        for tensor in step.writes:
            begin, size = extent(tensor, self.evaluate_dim)
            table.allow(self.get_memory(tensor.buffer).address + begin, size, writes=True)
        checked_kernel = build(step.kernel, self.target or host_target())
        fault = checked_kernel.call(table, arguments.ctypes.data, first, last, scratch.address)
        assert fault is None, f"{fault} is outside of the operands of {step.nodes}"

    def violates_guard(self) -> bool:
        """Whether the program rejects the run for sizes that are bound so far: a relation does not hold, or a dim is negative."""
        unbound = (self.program.stages.keys() | self.program.local_symbols) - self.lengths.keys()
        tensors = {tensor for action in self.program.actions for tensor in (*action.reads, *action.writes)}
        dims = {dim for tensor in tensors for dim in tensor.shape if isinstance(dim, Expr)}
        if any(self.evaluate_dim(dim) < 0 for dim in dims if not dim.symbols() & unbound):
            return True
        return any(
            self.evaluate_dim(guard.left) != self.evaluate_dim(guard.right)
            for guard in (*self.program.guards, *self.program.local_guards)
            if not any(isinstance(dim, Expr) and dim.symbols() & unbound for dim in (guard.left, guard.right))
        )

    def encode_arguments(self, action: int) -> Arguments:
        """The argument slots of a step, with those that a kernel has changed."""
        step, array = self.program.actions[action], self.argument_array(action)
        assert isinstance(step, Step), f"{step} has no arguments"
        for i, argument in enumerate(step.args):
            if (action, i) not in self.changed_slots:
                array[i] = self.encode_argument(argument, action)
            elif (action, i) not in self.moved_slots and self.depends_on_local_sizes(argument):
                assert array[i] == self.encode_argument(argument, action), f"argument {i} of {step.nodes}"
        return array

    def depends_on_local_sizes(self, argument: KernelArgument) -> bool:
        return not self.program.local_symbols.isdisjoint(symbols_of(argument))

    def argument_array(self, action: int) -> Arguments:
        """The memory of the argument slots of a step."""
        step = self.program.actions[action]
        assert isinstance(step, Step), f"{step} has no arguments"
        return self.arguments.setdefault(action, np.zeros(max(len(step.args), 1), np.int64))

    def encode_argument(self, arg: KernelArgument, action: int) -> int:
        if isinstance(arg, ArgumentSlot):
            target = action + arg.distance
            self.changed_slots.add((target, arg.index))
            if not binds_sizes(self.program.actions[action]):
                self.moved_slots.add((target, arg.index))
            return int(self.argument_array(target).ctypes.data) + arg.index * SLOT_BYTES
        if isinstance(arg, RecordSlot):
            record = self.records.setdefault(action + arg.distance, np.zeros(RECORD_SLOTS, np.int64))
            return int(record.ctypes.data) + arg.slot * SLOT_BYTES
        if isinstance(arg, CachedCount):
            return arg.in_bytes(CACHE_BYTES)
        tensor = arg.tensor if isinstance(arg, TensorAddress) else arg
        if not isinstance(tensor, TensorView):
            return self.evaluate_dim(tensor)
        offset = self.evaluate_dim(tensor.offset) * tensor.dtype.numpy.itemsize
        return self.get_memory(tensor.buffer).address + offset

    def random_partition(self, units: int) -> Iterator[tuple[int, int]]:
        boundaries = (
            sorted({0, units, *(int(n) for n in self.rng.integers(0, units + 1, 3))}) if units > 0 else []
        )
        pairs = list(itertools.pairwise(boundaries))
        for i in self.rng.permutation(len(pairs)):
            yield pairs[i]


def binds_sizes(action: Action) -> bool:
    return isinstance(action, Step) and action.binds is not None


def run_guarded(
    executable: Executable,
    feeds: Mapping[str, Array],
    target: Target | None = None,
    *,
    at_end: bool,
    seed: int,
    checks: bool = False,
) -> dict[str, Array] | None:
    """The outputs, or None if the program rejects the feeds.  checks: uses the checked build."""
    program = executable.program
    lengths = {name: feeds[of].shape[axis] for name, (of, axis) in program.sizes.items()}
    later = dict.fromkeys(list(program.stages)[len(lengths) :], 0)
    if not later and sizes_of.evaluate_sizes(program, executable.encoding, tuple(lengths.values()))[3]:
        return None
    guarded, fallback_runner = (
        GuardedProgram(program, lengths, target, at_end=at_end, seed=seed),
        FallbackRunner(program),
    )
    guarded.checks = checks
    frame = fallback_runner.frame(RunState(RunLimits(), RandomSource(0)))
    for value in program.model.graph.inputs:
        if value in program.inputs:
            tensor = program.inputs[value]
            if tuple(map(guarded.evaluate_dim, tensor.shape)) != feeds[value.name].shape:
                return None  # feeds that contradict a declaration
            guarded.write_tensor(tensor, feeds[value.name])
        else:
            frame.values[value] = feeds[value.name]
    if guarded.violates_guard():
        return None
    with np.errstate(all="ignore"):
        index = 0
        while index < len(program.actions):
            try:
                execute_action(guarded, fallback_runner, frame, program.actions[index])
            except Bailout:
                return None
            if guarded.violates_guard():
                return None
            index += guarded.next_distance(program.actions[index])
    if guarded.read_tensor(program.status)[0]:
        return None
    results = {
        v: None if tensor is None else guarded.read_tensor(tensor) for v, tensor in program.outputs.items()
    }
    return {v.name: np.asarray(frame[v] if array is None else array) for v, array in results.items()}


def execute_action(
    guarded: GuardedProgram, fallback_runner: FallbackRunner, frame: Frame, action: Action
) -> None:
    match action:
        case Step():
            guarded.run_step(action)
        case FallbackOp():
            fallback_runner.call(
                action.node,
                {v: guarded.read_tensor(tensor) for v, tensor in action.native_inputs.items()},
                frame,
            )
        case CopyIn(value, tensor):
            shape = tuple(guarded.evaluate_dim(dim) for dim in tensor.shape)
            guarded.write_tensor(
                tensor, check_result(frame[value], shape, tensor.dtype.numpy, value.producer)
            )
        case BindSizes(value, _, symbols, None):
            lengths = np.asarray(frame[value]).shape
            guarded.bind({name: lengths[axis] for axis, name in symbols.items()})
        case BindSizes(_, _, symbols, TensorView() as count):
            guarded.bind(dict.fromkeys(symbols.values(), int(guarded.read_tensor(count)[0])))
        case CollectScanOutputs(buffers, iterations, is_last):
            slices = {v: guarded.read_tensor(tensor) for v, tensor in buffers.items()}
            guarded.scan_outputs.collect(
                slices, int(guarded.read_tensor(iterations)[0]), frame, is_last=is_last
            )


def are_equal(a: Mapping[str, Array] | None, b: Mapping[str, Array] | None) -> bool:
    """Whether the results of two builds are equal, except for NaN payloads, which the compiler may choose."""
    if a is None or b is None:
        return a is b
    return all(np.array_equal(a[name], b[name], a[name].dtype.kind == "f") for name in a)


def assert_stays_in_bounds(sample: RandomModel, lanes: int | None = None) -> None:
    """Runs a sample with all its feeds, with both placements of buffers, and in the checked build.

    Asserts that no access is out of bounds, and that results are correct and bitwise equal.
    lanes: the vector width of the target, if it is not the processor's.
    """
    target = None if lanes is None else replace(host_target(), lanes=lanes)
    executable = compile_model(sample.model, target or host_target())
    for index, feeds in enumerate(sample.feeds):
        variants = ((True, False), (False, False), (True, True))
        results = [
            run_guarded(executable, feeds, target, at_end=at_end, seed=sample.seed, checks=checks)
            for at_end, checks in variants
        ]
        bits = [outputs and [value.tobytes() for value in outputs.values()] for outputs in results]
        assert bits[0] == bits[1], f"seed {sample.seed}: results depend on placement or work partitioning"
        assert are_equal(results[0], results[2]), (
            f"seed {sample.seed}: the results of the checked build differ"
        )
        if results[0] is not None:
            assert_outputs_match(results[0], sample, index, f"seed {sample.seed}, feeds {index}")
