"""Programs of kernels: cases as the compiler makes them for a class, in the form that `llvm.kernel_probes` runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from probes.case_builder import KernelCase
from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.executor.pool_layout import RECORD_SLOTS
from sardonyx._src.compile.llvm.kernel_probes import ALIGN, Base, digest
from sardonyx._src.compile.llvm.kernel_probes_file import KernelProbes, ProbeProgram
from sardonyx._src.compile.llvm.probe_process import FILLER
from sardonyx._src.compile.pipeline import compile_model
from sardonyx._src.compile.program import Buffer, Step
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
            self.places[content] = len(self.data)
            self.data += padded(content)
        return self.places[content]


def padded(content: bytes, filler: bytes = b"\0") -> bytes:
    return content + filler * (-len(content) % ALIGN)


def place_feeds(cases: Sequence[KernelCase]) -> Contents:
    """What all cases are fed."""
    contents = Contents()
    for case in cases:
        for array in case.feeds.values():
            contents.place(array)
    return contents


class ProgramWriter:
    """The programs of a target, one after the other."""

    def __init__(self, target: Target, feeds: Contents) -> None:
        self.target, self.feeds, self.constants = target, feeds, Contents()
        self.kernels: dict[str, int] = {}
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
            number = self.kernels.setdefault(step.kernel.key, len(self.kernels))
            self.calls.append((number, first + start, step.units))
        self.add_slots(executable, case, places, first)
        self.programs.append(ProbeProgram(case.name, self.end, len(content), digest(content)))
        self.ends.append(len(self.calls))
        self.end += len(content)

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


def compile_kernel_probes(target: Target, cases: Sequence[KernelCase], results: Results) -> KernelProbes:
    """The programs of cases for a target.  results: what they must compute."""
    writer = ProgramWriter(target, place_feeds(cases))
    for case in cases:
        writer.add(case, results[case.name])
    return writer.probes()
