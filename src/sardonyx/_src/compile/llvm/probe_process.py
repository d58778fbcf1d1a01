"""A child process that runs probes: an instruction that the processor does not have ends its process, and a wrong kernel may
never end."""

from __future__ import annotations

import ctypes
import mmap
import signal

from sardonyx._src.compile.llvm.executable_memory import ExecutableMemory, function_address
from sardonyx._src.dataclass import dataclass

COUNTER_BYTES = 8  # for the number of probes that have ended
HEADER_BYTES = 64  # before the results, so that those are aligned
CLONE_FLAGS = (0, signal.SIGCHLD)  # QEMU refuses the first, a child whose end is no signal to its parent
REFUSED = -1  # by the system: there is no child
FILLER = b"\xa5"  # in memory before probes write to it, so that missing zeros are noticed
MAX_SECONDS = 10  # of processor time, after which SIGXCPU ends a child: probes take milliseconds
PROBE_FAULTS = frozenset(
    getattr(signal, name)
    for name in ("SIGILL", "SIGFPE", "SIGSEGV", "SIGBUS", "SIGTRAP", "SIGXCPU")
    if hasattr(signal, name)
)


@dataclass(frozen=True, slots=True)
class ProbeFault:
    """The first probe that failed, and how: "gives wrong values", "ends with SIGILL", or "does not end"."""

    probe: str
    how: str

    def __str__(self) -> str:
        return f"{self.probe} {self.how}"


class SharedResults:
    """Memory that a child writes to: the number of probes that have ended, and their results.

    address: of the results.
    """

    def __init__(self, size: int) -> None:
        self.memory = mmap.mmap(-1, HEADER_BYTES + size)
        self.memory[HEADER_BYTES:] = FILLER * size
        self.start = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self.address = self.start + HEADER_BYTES

    @property
    def finished(self) -> int:
        return int.from_bytes(self.memory[:COUNTER_BYTES], "little")

    def content(self) -> bytes:
        return self.memory[HEADER_BYTES:]


def run_function(code: ExecutableMemory, name: str, operands: int, results: SharedResults) -> str:
    """Calls a function of a class's probes, "run_probes" or "run_calls", in a child; returns how the child ended, or "".

    operands: the address that it takes.  Where the system refuses a child, or others end it, this process calls the function.
    """
    arguments = (operands, results.address, results.start)
    status = run_in_child(code, code.addresses[name], arguments)
    end = None if status == REFUSED else signal_of(status)
    is_ended_by_others = end is not None and end not in PROBE_FAULTS
    if status == REFUSED or is_ended_by_others:
        ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(code.addresses[name])(*arguments)
        end = None
    return "" if end is None else "does not end" if end.name == "SIGXCPU" else f"ends with {end.name}"


def run_in_child(code: ExecutableMemory, function: int, arguments: tuple[int, int, int]) -> int:
    """Calls a function in a child process; returns its status, REFUSED if the system starts none."""
    types = (*[ctypes.c_void_p] * 4, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
    run = ctypes.CFUNCTYPE(ctypes.c_int64, *types)(code.addresses["run_in_child"])
    for flags in CLONE_FLAGS:
        status = int(run(*arguments, function, MAX_SECONDS, flags, function_address("syscall")))
        if status != REFUSED:
            return status
    return REFUSED


def signal_of(status: int) -> signal.Signals | None:
    """The signal that has ended a process, by its status; None for one that has ended by itself."""
    number = status & 0x7F
    return signal.Signals(number) if number else None
