"""Probes of kernels: programs of few kernels, of the code that the library of a class has, on small tensors.

Their results have the bits that another class has computed, since all classes compute the same.
"""

from __future__ import annotations

import ctypes
import hashlib
import logging
from collections.abc import Callable
from enum import IntEnum

import numpy as np

from sardonyx._src.compile.linker.link import link_objects
from sardonyx._src.compile.llvm.executable_memory import ExecutableMemory, map_private_memory
from sardonyx._src.compile.llvm.kernel_library import symbol_of
from sardonyx._src.compile.llvm.kernel_probes_file import KernelProbes
from sardonyx._src.compile.llvm.probe_process import FILLER, ProbeFault, SharedResults, run_function
from sardonyx._src.ir import Array

ALIGN = 64  # of everything that kernels read and write
STATUS_BYTES = 64
CALL_SLOTS = 4  # of a record of `run_calls`: kernel, arguments, units, scratch memory
DIGEST_BYTES = 8
GetCode = Callable[[str], "bytes | None"]  # the object code of a module of the library
log = logging.getLogger(__name__)


class Base(IntEnum):
    """What the value of a slot is added to."""

    NUMBER = 0
    FEEDS = 1
    CONSTANTS = 2
    RESULTS = 3
    ARENA = 4
    STATUS = 5
    SLOTS = 6


def find_kernel_fault(probes: KernelProbes, get_code: GetCode, runner: ExecutableMemory) -> ProbeFault | None:
    """Runs the programs of a class, and compares their results.

    runner: the probes of instructions of the class, which have the function that calls kernels.
    """
    try:
        code = link_kernels(probes, get_code)
    except LookupError as error:  # a damaged library: its kernels are compiled
        log.warning("kernels are not tested, since the library must have %s", error)
        return None
    results = SharedResults(sum(program.size for program in probes.programs))
    memory, table = load_calls(probes, code, results.address)
    how = run_function(runner, "run_calls", table, results)
    del memory
    return compare_results(probes, results.finished, results.content(), how)


def compare_results(probes: KernelProbes, finished: int, content: bytes, how: str) -> ProbeFault | None:
    """The first program whose kernels did not all end, or whose results differ, with the names of its kernels."""
    calls = np.frombuffer(probes.calls, np.int64).reshape(-1, 3)
    first = 0
    for program, end in zip(probes.programs, probes.ends, strict=True):
        if finished < end:
            kernel = probes.kernels[calls[finished, 0]]
            return ProbeFault(f"{kernel} ({program.name})", how or "does not end")
        if digest(content[program.place : program.place + program.size]) != program.digest:
            names = dict.fromkeys(probes.kernels[i] for i in calls[first:end, 0])
            return ProbeFault(f"{', '.join(names)} ({program.name})", "gives wrong values")
        first = end
    return None


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[: 2 * DIGEST_BYTES]


def link_kernels(probes: KernelProbes, get_code: GetCode) -> ExecutableMemory:
    """The kernels of programs.  Raises LookupError, which names the module, if the library lacks one."""
    objects = []
    for name in sorted(probes.kernels):  # as the library's blocks are, of which few stay decompressed
        code = get_code(name)
        if code is None:
            raise LookupError(name)
        objects.append(code)
    image = link_objects(objects, [symbol_of(name) for name in probes.kernels])
    return ExecutableMemory(image.code, image.functions, image.slots)


def load_calls(probes: KernelProbes, code: ExecutableMemory, results: int) -> tuple[object, int]:
    """The memory of programs, and the address of the records of their calls.  results: the address for their results."""
    calls = np.frombuffer(probes.calls, np.int64).reshape(-1, 3)
    values, bases = np.frombuffer(probes.values, np.int64), np.frombuffer(probes.bases, np.uint8)
    records = np.zeros((len(calls) + 1, CALL_SLOTS), np.int64)
    parts = (
        probes.feeds,
        probes.constants,
        probes.arena,
        STATUS_BYTES,
        values.nbytes,
        records.nbytes,
        probes.scratch,
    )
    sizes = [part if isinstance(part, int) else len(part) for part in parts]
    ends = np.cumsum([-(-size // ALIGN) * ALIGN for size in sizes])
    memory = map_private_memory(int(ends[-1]))
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    places = [0, *map(int, ends[:-1])]
    feeds, constants, arena, status, slots, table, scratch = (start + place for place in places)
    origins = {Base.FEEDS: feeds, Base.CONSTANTS: constants, Base.RESULTS: results, Base.ARENA: arena}
    origins |= {Base.NUMBER: 0, Base.STATUS: status, Base.SLOTS: slots}
    addresses = np.array([code.addresses[symbol_of(name)] for name in probes.kernels], np.int64)
    records[:-1, 0], records[:-1, 1] = addresses[calls[:, 0]], slots + 8 * calls[:, 1]
    records[:-1, 2], records[:-1, 3] = calls[:, 2], scratch
    content = np.frombuffer(memory, np.uint8)
    relocated: Array = values + np.array([origins[base] for base in Base], np.int64)[bases]
    filled = (probes.feeds, probes.constants, FILLER * probes.arena, relocated.tobytes(), records.tobytes())
    for place, part in zip((feeds, constants, arena, slots, table), filled, strict=True):
        content[place - start : place - start + len(part)] = np.frombuffer(part, np.uint8)
    return content, table
