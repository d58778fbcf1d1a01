"""Runs whole programs step by step, each storage between pages that nobody may touch.

While a step runs, what it says it reads may only be read, and what it does not mention cannot be touched at all: a step
that goes astray, or reads or writes what it does not declare, ends the process.  In the checked build of its kernel it
asks before every access, and its first fault is told.
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

from compile.agreement import holds
from compile.checked_runs import Table, build
from compile.guarded import LIBC, PAGE, Guarded, extent
from compile.random_graphs import Sample
from sardonyx._src.compile import sizes as sizes_of
from sardonyx._src.compile.layout import laid_out
from sardonyx._src.compile.llvm.jit import host, load
from sardonyx._src.compile.llvm.kernels import address
from sardonyx._src.compile.llvm.target import Target
from sardonyx._src.compile.lowering import Lowering
from sardonyx._src.compile.plan import planned
from sardonyx._src.compile.prepare import prepared
from sardonyx._src.compile.program import Action, Collect, HostCall, Program, Upload
from sardonyx._src.compile.sizes import number
from sardonyx._src.compile.step import Kernel, Step
from sardonyx._src.compile.tensor import Storage, Tensor
from sardonyx._src.interp.steps import Frame, Run
from sardonyx._src.ir.dims import Known
from sardonyx._src.ir.tensors import Array
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.runtime.collected import Collected
from sardonyx._src.runtime.host import Host, held
from sardonyx._src.runtime.limits import begin
from sardonyx._src.runtime.native import compile_model

NONE, READ, WRITE = 0, mmap.PROT_READ, mmap.PROT_READ | mmap.PROT_WRITE
GARBAGE = 0xFF  # bytes of memory that nobody has written: NaN as floats, -1 as integers, no bool
Words = NDArray[np.int64]
Call = Callable[[int, int, int, int], None]
ARGUMENTS = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
CALL = ctypes.CFUNCTYPE(None, *ARGUMENTS)


@cache
def loaded(kernel: Kernel, target: Target | None) -> Call:
    """A kernel's function; `target`: other registers than this processor's, for which nothing is kept on disk."""
    if target is None:
        return CALL(address(kernel))
    return load(kernel.source("kernel", target), ["kernel"]).function("kernel", *ARGUMENTS)


class Place(Guarded):
    """Memory of a storage; what of its pages is beside it holds garbage, which has to stay."""

    def __init__(self, size: int, *, at_end: bool) -> None:
        super().__init__(size, at_end=at_end)
        count = len(self.map) - 2 * PAGE
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.map)) + PAGE
        self.around = np.frombuffer(self.map, np.uint8, count, PAGE)
        self.around[:] = GARBAGE
        self.beside = slice(0, count - size) if at_end else slice(size, count)

    def allow(self, rights: int) -> None:
        size = ctypes.c_size_t(len(self.around))
        assert LIBC.mprotect(ctypes.c_void_p(self.base), size, rights) == 0, "mprotect refuses"

    def is_whole(self) -> bool:
        return bool((self.around[self.beside] == GARBAGE).all())


class Ground:
    """A program's storages for one run, which lengths of its inputs decide."""

    def __init__(
        self, program: Program, lengths: Mapping[str, int], target: Target | None, *, at_end: bool, seed: int
    ) -> None:
        self.program, self.known, self.target, self.at_end = program, dict(lengths), target, at_end
        self.checks, self.collected = False, Collected()
        self.places: dict[Storage, Place] = {}
        self.chance = np.random.default_rng(seed)

    def number(self, dim: Known) -> int:
        return dim if isinstance(dim, int) else number(dim, self.known)

    def place(self, storage: Storage) -> Place:
        found = self.places.get(storage)
        if found is None:
            found = Place(max(self.number(storage.size), 0), at_end=self.at_end)
            if storage.data is not None:
                found.bytes[:] = np.ascontiguousarray(storage.data).reshape(-1).view(np.uint8)
            if storage.role == "status":
                begin(found.bytes.view(np.int64), Run(RunLimits(), np.random.default_rng(0)))
            found.allow(NONE)
            self.places[storage] = found
        return found

    def put(self, tensor: Tensor, array: Array) -> None:
        place = self.place(tensor.storage)
        place.allow(WRITE)
        self.view(tensor)[...] = array
        place.allow(NONE)

    def copy(self, tensor: Tensor) -> Array:
        """The elements of a tensor, in memory of their own."""
        self.place(tensor.storage).allow(READ)
        found = self.view(tensor).copy()
        self.place(tensor.storage).allow(NONE)
        return found

    def view(self, tensor: Tensor) -> Array:
        size = tensor.dtype.numpy.itemsize
        shape = tuple(self.number(dim) for dim in tensor.shape)
        strides = tuple(self.number(stride) * size for stride in tensor.strides)
        memory = self.place(tensor.storage).bytes
        if 0 in shape:
            return np.empty(shape, tensor.dtype.numpy)
        return np.ndarray(shape, tensor.dtype.numpy, memory, self.number(tensor.offset) * size, strides)

    def step(self, step: Step) -> None:
        """Runs a step's units in runs of a few, in any order."""
        words = np.array([self.word(arg) for arg in step.args] or [0], np.int64)
        scratch = Place(max(self.number(step.scratch), 0), at_end=self.at_end)
        used = {t.storage: READ for t in step.reads} | {t.storage: WRITE for t in step.writes}
        for storage, rights in used.items():
            self.place(storage).allow(rights)
        for first, last in self.shares(self.number(step.units)):
            if self.checks:
                self.check(step, words, used, scratch, first, last)
            else:
                loaded(step.kernel, self.target)(words.ctypes.data, first, last, scratch.address)
        for storage in used:
            self.place(storage).allow(READ)
            assert self.place(storage).is_whole(), f"{step.nodes} write beside {storage.name}"
            self.place(storage).allow(NONE)
        assert scratch.is_whole(), f"{step.nodes} write beside their scratch"

    def onward(self, action: Action) -> int:
        """How many actions away a run goes on behind one."""
        jump = action.jump if isinstance(action, Step) else None
        return 1 if jump is None or not self.copy(jump.flag)[0] else jump.distance

    def check(
        self, step: Step, words: Words, used: Mapping[Storage, int], scratch: Place, first: int, last: int
    ) -> None:
        """Does units of a step in the checked build: of a storage that several write it writes its own part alone."""
        table = Table()
        table.allow(words.ctypes.data, words.nbytes, writes=False)
        table.allow(scratch.address, len(scratch.bytes), writes=True)
        for storage in used:
            table.allow(self.place(storage).address, len(self.place(storage).bytes), writes=False)
        for tensor in step.writes:
            begin, size = extent(tensor, self.number)
            table.allow(self.place(tensor.storage).address + begin, size, writes=True)
        made = build(step.kernel, self.target or host())
        fault = made.call(table, words.ctypes.data, first, last, scratch.address)
        assert fault is None, f"{fault} is outside of what {step.nodes} may touch"

    def word(self, arg: Tensor | Known) -> int:
        if not isinstance(arg, Tensor):
            return self.number(arg)
        return self.place(arg.storage).address + self.number(arg.offset) * arg.dtype.numpy.itemsize

    def shares(self, units: int) -> Iterator[tuple[int, int]]:
        cuts = (
            sorted({0, units, *(int(n) for n in self.chance.integers(0, units + 1, 3))}) if units > 0 else []
        )
        pairs = list(itertools.pairwise(cuts))
        for i in self.chance.permutation(len(pairs)):
            yield pairs[i]


def ran(
    program: Program,
    feeds: Mapping[str, Array],
    target: Target | None = None,
    *,
    at_end: bool,
    seed: int,
    checks: bool = False,
) -> dict[str, Array] | None:
    """The outputs; None where the program refuses the feeds.  checks: runs the checked build."""
    known = {name: feeds[of].shape[axis] for name, (of, axis) in program.sizes.items()}
    layout = laid_out(program, planned(program))
    if sizes_of.worked_out(program, layout, tuple(known.values()))[3]:
        return None
    ground, calls = Ground(program, known, target, at_end=at_end, seed=seed), Host(program)
    ground.checks = checks
    frame = calls.frame(Run(RunLimits(), np.random.default_rng(0)))
    for value in program.model.graph.inputs:
        if value in program.inputs:
            ground.put(program.inputs[value], feeds[value.name])
        else:
            frame.values[value] = feeds[value.name]
    with np.errstate(all="ignore"):
        at = 0
        while at < len(program.actions):
            act(ground, calls, frame, program.actions[at])
            at += ground.onward(program.actions[at])
    if ground.copy(program.status)[0]:
        return None
    results = {v: None if tensor is None else ground.copy(tensor) for v, tensor in program.outputs.items()}
    return {v.name: np.asarray(frame[v] if found is None else found) for v, found in results.items()}


def act(ground: Ground, calls: Host, frame: Frame, action: Action) -> None:
    match action:
        case Step():
            ground.step(action)
        case HostCall():
            calls.call(action.node, {v: ground.copy(tensor) for v, tensor in action.takes.items()}, frame)
        case Upload(value, tensor):
            shape = tuple(ground.number(dim) for dim in tensor.shape)
            ground.put(tensor, held(frame[value], shape, tensor.dtype.numpy, value.producer))
        case Collect(buffers, turns, is_last):
            slices = {v: ground.copy(tensor) for v, tensor in buffers.items()}
            ground.collected.take(slices, int(ground.copy(turns)[0]), frame, is_last=is_last)


def are_alike(a: Mapping[str, Array] | None, b: Mapping[str, Array] | None) -> bool:
    """Whether two builds make the same numbers: which NaN comes of two is the compiler's choice."""
    if a is None or b is None:
        return a is b
    return all(np.array_equal(a[name], b[name], a[name].dtype.kind == "f") for name in a)


def stays_inside(sample: Sample, lanes: int | None = None) -> None:
    """Runs a sample so over all feeds, with memory before and behind the pages, and in the checked build.

    Results are right and the same bits.

    lanes: of a processor with narrower registers.
    """
    target = None if lanes is None else replace(host(), lanes=lanes)
    program = (
        compile_model(sample.model) if target is None else Lowering(prepared(sample.model), target).program()
    )
    for turn, feeds in enumerate(sample.feeds):
        ways = ((True, False), (False, False), (True, True))
        found = [
            ran(program, feeds, target, at_end=at_end, seed=sample.seed, checks=checks)
            for at_end, checks in ways
        ]
        bits = [one and [value.tobytes() for value in one.values()] for one in found]
        assert bits[0] == bits[1], (
            f"seed {sample.seed}: results depend on placement or on the split of the work"
        )
        assert are_alike(found[0], found[2]), f"seed {sample.seed}: the checked build makes something else"
        if found[0] is not None:
            holds(found[0], sample, turn, f"seed {sample.seed}, feeds {turn}")
