"""Programs of kernels: cases as the compiler makes them for a class, in the form that `llvm.kernel_probes` runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from probes.case_builder import KernelCase
from probes.step_cases import PreparedSteps, StepCase, step_kernels
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.executor.pool_layout import RECORD_SLOTS
from sardonyx._src.compile.llvm.kernel_probes import ALIGN, Base, digest
from sardonyx._src.compile.llvm.kernel_probes_file import KernelProbes, ProbeProgram
from sardonyx._src.compile.llvm.probe_process import FILLER
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.compile.program import Buffer, Kernel, KernelArgument, Step, TensorView
from sardonyx._src.compile.program.encoding.executable import Executable
from sardonyx._src.compile.program.encoding.size_functions import evaluate_sizes
from sardonyx._src.compile.program.encoding.slot_bases import (
    ARENA_BASE,
    NO_BASE,
    SLOTS_BASE,
    STATUS_BASE,
    RelocationBase,
)
from sardonyx._src.compile.program.steps.cached_count import CachedCount
from sardonyx._src.ir import Array
from sardonyx._src.runtime.kernel_library.building import kernels_of

MAX_MEMORY = 1 << 20  # bytes of a program
COMMON_BASES = {
    NO_BASE: Base.NUMBER,
    ARENA_BASE: Base.ARENA,
    STATUS_BASE: Base.STATUS,
    SLOTS_BASE: Base.SLOTS,
}
Results = Mapping[str, Sequence[Array]]  # of each case, in the order of its outputs


class Contents:
    """Contents of tensors, each distinct one once, at multiples of 64 bytes."""

    def __init__(self) -> None:
        self.places: dict[bytes, int] = {}
        self.data = bytearray()

    def place(self, array: Array) -> int:
        content = array.tobytes()
        if content not in self.places:
            self.places[content] = self.append(content)
        return self.places[content]

    def append(self, content: bytes) -> int:
        """Places a content of its own, which a program may change."""
        place = len(self.data)
        self.data += padded(content)
        return place


def padded(content: bytes, filler: bytes = b"\0") -> bytes:
    return content + filler * (-len(content) % ALIGN)


def place_feeds(cases: Sequence[KernelCase | StepCase]) -> Contents:
    """What the models of all cases are fed."""
    contents = Contents()
    for case in cases:
        for array in case.feeds.values() if isinstance(case, KernelCase) else ():
            contents.place(array)
    return contents


class ProgramWriter:
    """The programs of a target, one after the other."""

    def __init__(self, target: Target, feeds: Contents) -> None:
        self.target, self.feeds, self.constants = target, feeds, Contents()
        self.kernels: dict[str, int] = {}  # the number of each
        self.programs: list[ProbeProgram] = []
        self.ends: list[int] = []
        self.calls: list[tuple[int, int, int]] = []
        self.values: list[int] = []
        self.bases: list[int] = []
        self.arena = self.scratch = self.end = 0

    def add(self, case: KernelCase, results: Sequence[Array]) -> None:
        executable = compile_model(case.model, self.target, verify=True)
        program, encoding = executable.program, executable.encoding
        is_plain = all(isinstance(a, Step) and a.jump is None and a.binds is None for a in program.actions)
        assert program.is_static and is_plain, f"{case.name} must be calls of kernels only"
        _, arena, scratch, faults = evaluate_sizes(program, encoding, ())
        assert not faults and arena + scratch < MAX_MEMORY, f"{case.name} needs too much memory"
        self.arena, self.scratch = max(self.arena, arena), max(self.scratch, scratch)
        first = len(self.values) - RECORD_SLOTS * len(program.actions)
        places, content = self.place_results(executable, results)
        for step, start in zip(program.steps, encoding.argument_starts, strict=True):
            assert isinstance(step.units, int), f"{case.name} must have constant sizes"
            self.calls.append((self.number_of(step.kernel.key), first + start, step.units))
        self.add_slots(executable, case, places, first)
        self.end_program(case.name, content)

    def add_steps(self, case: StepCase, results: Sequence[Array]) -> None:
        """results: the bytes of the outputs of a case."""
        prepared = case.prepare(self.target)
        places, content = dict[Buffer, tuple[Base, int]](), b""
        for buffer, result in zip(prepared.outputs, results, strict=True):
            places[buffer] = Base.RESULTS, self.end + len(content)
            content += padded(result.tobytes(), FILLER)
        places = self.place_operands(prepared) | places
        for step in prepared.steps:
            assert isinstance(step.units, int) and isinstance(step.scratch, int), (
                f"{case.name} must be static"
            )
            self.scratch = max(self.scratch, step.scratch)
            self.calls.append((self.number_of(step.kernel.key), len(self.values), step.units))
            for argument in step.args:
                self.add_argument(argument, places)
        self.end_program(case.name, content)

    def number_of(self, kernel: str) -> int:
        return self.kernels.setdefault(kernel, len(self.kernels))

    def end_program(self, name: str, content: bytes) -> None:
        """content: the expected bytes of its results."""
        self.programs.append(ProbeProgram(name, self.end, len(content), digest(content)))
        self.ends.append(len(self.calls))
        self.end += len(content)

    def place_operands(self, prepared: PreparedSteps) -> dict[Buffer, tuple[Base, int]]:
        """Where buffers are: those with contents among the constants, all others in the arena."""
        places, arena = dict[Buffer, tuple[Base, int]](), 0
        for buffer, memory in prepared.memories().items():
            content = np.asarray(memory.bytes)
            if buffer in prepared.inputs:
                places[buffer] = Base.CONSTANTS, self.constants.append(content.tobytes())
            elif buffer.data is not None:
                places[buffer] = Base.CONSTANTS, self.constants.place(content)
            else:
                places[buffer] = Base.ARENA, arena
                arena += -(-content.size // ALIGN) * ALIGN
        self.arena = max(self.arena, arena)
        return places

    def add_argument(self, argument: KernelArgument, places: Mapping[Buffer, tuple[Base, int]]) -> None:
        base, value = Base.NUMBER, argument.most if isinstance(argument, CachedCount) else argument
        if isinstance(argument, TensorView):
            assert isinstance(argument.offset, int), f"{argument} must be static"
            base, place = places[argument.buffer]
            value = place + argument.offset * argument.dtype.numpy.itemsize
        assert isinstance(value, int), f"an argument must be an address or a number; got {argument}"
        self.values.append(value)
        self.bases.append(base)

    def place_results(
        self, executable: Executable, results: Sequence[Array]
    ) -> tuple[dict[Buffer, int], bytes]:
        """Where the outputs of a program are, and their expected bytes."""
        places, content = {}, b""
        for view, result in zip(executable.program.outputs.values(), results, strict=True):
            assert view is not None and view.buffer.role == "output" and view.is_dense and view.offset == 0
            places[view.buffer] = self.end + len(content)
            content += padded(result.tobytes(), FILLER)
        return places, content

    def add_slots(
        self, executable: Executable, case: KernelCase, results: dict[Buffer, int], first: int
    ) -> None:
        """Adds the arguments of a program; first: the slot that number 0 of its own would have."""
        encoding = executable.encoding
        buffers = {index: buffer for buffer, index in encoding.extra_bases.items()}
        feeds = {view.buffer: case.feeds[v.name] for v, view in executable.program.inputs.items() if view}
        for slot in range(RECORD_SLOTS * len(executable.program.actions), len(encoding.values)):
            value, index = encoding.values[slot], encoding.bases[slot]
            assert isinstance(value, int)
            counted = buffers.get(index)
            if isinstance(counted, CachedCount):
                value, index = counted.most, NO_BASE  # probes are so small that they fit in every cache
            base, place = COMMON_BASES.get(index), 8 * first if index == SLOTS_BASE else 0
            if base is None:
                base, place = self.place_buffer(buffers[index], feeds, results)
            self.values.append(value + place)
            self.bases.append(base)

    def place_buffer(
        self, buffer: RelocationBase, feeds: Mapping[Buffer, Array], results: Mapping[Buffer, int]
    ) -> tuple[Base, int]:
        assert isinstance(buffer, Buffer), "other arguments are no addresses"
        if buffer in results:
            return Base.RESULTS, results[buffer]
        if buffer in feeds:
            return Base.FEEDS, self.feeds.place(feeds[buffer])
        assert buffer.data is not None, f"{buffer.name} must have content"
        return Base.CONSTANTS, self.constants.place(np.asarray(buffer.data))

    def probes(self) -> KernelProbes:
        return KernelProbes(
            tuple(self.programs),
            bytes(self.feeds.data),
            tuple(self.kernels),
            tuple(self.ends),
            self.arena,
            self.scratch,
            np.array(self.calls, np.int64).tobytes(),
            np.array(self.values, np.int64).tobytes(),
            np.array(self.bases, np.uint8).tobytes(),
            bytes(self.constants.data),
        )


def compile_kernel_probes(
    target: Target, cases: Sequence[KernelCase | StepCase], results: Results
) -> KernelProbes:
    """The programs of cases for a target.  results: what they must compute."""
    writer = ProgramWriter(target, place_feeds(cases))
    for case in cases:
        if isinstance(case, StepCase):
            writer.add_steps(case, results[case.name])
        else:
            writer.add(case, results[case.name])
    return writer.probes()


def probed_kernels(target: Target, cases: Sequence[KernelCase | StepCase]) -> Iterator[Kernel]:
    """The kernels of cases for a target."""
    yield from kernels_of((case.model for case in cases if isinstance(case, KernelCase)), target)
    yield from step_kernels([case for case in cases if isinstance(case, StepCase)], target)
