"""Native threads that run tapes, the encoded steps of programs: one set of workers per process, asleep soon after a run.

Workers are POSIX threads that run native code only (`compile.executor.tape`): they never acquire Python's lock.  Before the
interpreter shuts down, they are stopped and joined, so that no code is unloaded while they execute it.  They block all
signals except faults, since Python handles signals in its own threads.

A forked child starts without workers, and with a new state, since a run of its parent may have used the old one.
Without POSIX threads (Windows) a pool has one thread, its caller.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from sardonyx._src.compile.codegen import Target
from sardonyx._src.compile.executor import pool_layout as layout
from sardonyx._src.compile.llvm.cache import default_cache
from sardonyx._src.compile.llvm.executable_memory import function_address, map_private_memory
from sardonyx._src.dataclass import dataclass
from sardonyx._src.logs import get_logger
from sardonyx._src.phases import phase
from sardonyx._src.runtime.limits.cpus import available_cpus

if TYPE_CHECKING:
    from sardonyx._src.compile.llvm.jit import Module

SLOT_BYTES = 8
FALSE_SHARING_BYTES = 128  # two cache lines: the distance between memory that different threads write
# Least weights in nanoseconds: of a step that is divided among threads; of one chunk of it; of all steps of a run for which
# sleeping workers are woken.
SCHEDULING_DEFAULTS = {
    layout.JOB_THRESHOLD: 5_000,
    layout.GRAIN_SIZE: 2_500,
    layout.WAKE_THRESHOLD: 100_000,
}
PTHREAD_FUNCTIONS = {
    layout.SCHED_YIELD: "sched_yield",
    layout.MUTEX_LOCK: "pthread_mutex_lock",
    layout.MUTEX_UNLOCK: "pthread_mutex_unlock",
    layout.CONDITION_WAIT: "pthread_cond_wait",
    layout.CONDITION_SIGNAL: "pthread_cond_signal",
}
LINUX_FUNCTIONS = {
    layout.GET_CPU: "sched_getcpu",
    layout.GET_AFFINITY: "sched_getaffinity",
    layout.SET_AFFINITY: "pthread_setaffinity_np",
    layout.GET_TIME: "clock_gettime",
}
HAS_THREADS = sys.platform != "win32"
# Signals that a fault of the thread itself raises.  They are not blocked, so that fault handlers can report them.
FAULT_SIGNALS = {"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL"}
Run = Callable[[int, int, int, int, int, int, int, int], int]
log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Scratch:
    """Zeroed memory for the threads of one run; the part of thread i begins at `address + i * stride`."""

    address: int
    stride: int
    memory: object = field(repr=False)  # the owner of the memory, which must stay alive


@dataclass(frozen=True, slots=True)
class ThreadPool:
    """A number of threads, including the caller of `run`.  All pools of a process share its workers."""

    threads: int

    @property
    def address(self) -> int:
        """The address of the workers' memory; 0 for one thread.  Starts workers if necessary.  Not valid in a forked child."""
        return workers(self.threads).address if self.threads > 1 else 0

    def scratch(self, size: int) -> Scratch:
        """Scratch memory of `size` bytes for each thread, for one run at a time.  The system allocates pages at first use."""
        stride = -(-size // FALSE_SHARING_BYTES) * FALSE_SHARING_BYTES
        memory = ctypes.c_char.from_buffer(map_private_memory(max(stride * self.threads, 1)))
        return Scratch(ctypes.addressof(memory), stride, memory)

    def run(self, tape: int, first: int, last: int, scratch: Scratch, status: int) -> int:
        """Runs the records from `first` up to `last`, exclusive; returns the index of the first record that is not finished.

        tape: the address of the tape.
        status: the address of the status block (`executor.status`).
        The tape, its arguments and everything that they point to must neither move nor be freed during the call.
        """
        if self.threads == 1:
            return tape_runner().run(tape, first, last, 0, 1, scratch.address, scratch.stride, status)
        active = workers(self.threads)
        threads = min(self.threads, len(active.threads) + 1)
        memory = (scratch.address, scratch.stride, status)
        return active.runner.run(tape, first, last, active.address, threads, *memory)


def get_thread_pool(threads: int | None = None) -> ThreadPool:
    """A pool of `threads` threads; None: of as many threads as can run at the same time."""
    count = available_cpus() if threads is None else threads
    assert count >= 1, f"a pool must have at least 1 thread, its caller; got {count}"
    return ThreadPool(min(count, layout.MAX_THREADS) if HAS_THREADS else 1)


class FunctionTable(Protocol):
    """Native functions by name; their addresses are valid as long as the object lives."""

    addresses: dict[str, int]


def run_loop_module(target: Target) -> Module:
    from sardonyx._src.compile.llvm.jit import Module  # lazy: programs from files have the code

    def text() -> str:
        from sardonyx._src.compile.executor import tape  # lazy: so have libraries and the cache

        return tape.tape_module(target)

    return Module("run loop", text)


def load_run_loop() -> FunctionTable:
    from sardonyx._src.compile.llvm.jit import host_target, load  # lazy, too

    return load(run_loop_module(host_target()), ["run", "work"], default_cache())


class TapeRunner:
    """The native run loop of tapes (`compile.executor.tape`)."""

    def __init__(self, library: FunctionTable | None = None) -> None:
        """library: a saved program that contains the run loop; None: the run loop is compiled."""
        self.library = library or load_run_loop()
        word, pointer = ctypes.c_int64, ctypes.c_void_p
        types = (pointer, word, word, pointer, word, pointer, word, pointer)
        self.run: Run = ctypes.CFUNCTYPE(word, *types)(self.library.addresses["run"])
        self.work = self.library.addresses["work"]


class WorkerThreads:
    """The native threads of this process, and the memory through which they receive work (`executor.pool_layout`).

    The memory is never freed: at shutdown, a daemon thread of Python may still execute a run.
    """

    def __init__(self, runner: TapeRunner) -> None:
        self.runner = runner
        self.max_workers = layout.MAX_THREADS - 1  # reduced once the system refuses to start another thread
        calloc = libc_function("calloc", ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
        size = (layout.WORKERS_BEGIN + layout.MAX_THREADS * layout.WORKER_SLOTS) * SLOT_BYTES
        self.address = -(-calloc(1, size + FALSE_SHARING_BYTES) // FALSE_SHARING_BYTES) * FALSE_SHARING_BYTES
        self.slots = (ctypes.c_int64 * (size // SLOT_BYTES)).from_address(self.address)
        self.threads: list[int] = []  # indices of the started workers
        for slot, value in SCHEDULING_DEFAULTS.items():
            self.slots[slot] = value
        functions = PTHREAD_FUNCTIONS | LINUX_FUNCTIONS if sys.platform == "linux" else PTHREAD_FUNCTIONS
        for slot, name in functions.items():
            self.slots[slot] = function_address(name)

    def slot_address(self, index: int, slot: int = 0) -> int:
        """The address of a slot of worker `index`, which counts from 1."""
        return self.address + (layout.WORKERS_BEGIN + index * layout.WORKER_SLOTS + slot) * SLOT_BYTES

    def grow(self, count: int) -> None:
        """Starts workers until there are `count`, or as many as the system allows."""
        while len(self.threads) < min(count, self.max_workers):
            error = self.start(len(self.threads) + 1)
            if error:
                self.max_workers = len(self.threads)
                log.warning(
                    "only %d of %d worker threads could be started: %s",
                    self.max_workers,
                    count,
                    os.strerror(error),
                )

    def start(self, index: int) -> int:
        """Starts the next worker, with its signals blocked; returns the system's error number, or 0."""
        first = layout.WORKERS_BEGIN + index * layout.WORKER_SLOTS
        self.slots[first + layout.POOL], self.slots[first + layout.INDEX] = self.address, index
        self.slots[first + layout.HAS_CPU] = int(index < available_cpus())
        for name, slot in (("pthread_mutex_init", layout.MUTEX), ("pthread_cond_init", layout.CONDITION)):
            failed = libc_function(name, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(
                self.slot_address(index, slot), None
            )
            assert not failed, f"{name} failed with error {failed}"
        create = libc_function("pthread_create", ctypes.c_int, *[ctypes.c_void_p] * 4)
        before = signal.pthread_sigmask(
            signal.SIG_BLOCK,
            [s for s in signal.valid_signals() if getattr(s, "name", "") not in FAULT_SIGNALS],
        )
        self.threads.append(index)  # before it starts: after an interrupt it must not be started again
        try:
            error = create(
                self.slot_address(index, layout.THREAD), None, self.runner.work, self.slot_address(index)
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if error:
            self.threads.pop()
        return int(error)

    def stop(self) -> None:
        """Stops the workers and joins them; a run that is under way continues in its own thread."""
        self.slots[layout.STOP_REQUESTED] = 1
        for index in range(1, len(self.threads) + 1):
            for function, offset in (
                (layout.MUTEX_LOCK, layout.MUTEX),
                (layout.MUTEX_UNLOCK, layout.MUTEX),
                (layout.CONDITION_SIGNAL, layout.CONDITION),
            ):
                libc_function(PTHREAD_FUNCTIONS[function], ctypes.c_int, ctypes.c_void_p)(
                    self.slot_address(index, offset)
                )
        join = libc_function("pthread_join", ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        for index in self.threads:
            thread = self.slots[layout.WORKERS_BEGIN + index * layout.WORKER_SLOTS + layout.THREAD]
            if thread:  # 0 if an interrupt came before the thread was started
                join(thread, None)


class ProcessThreads:
    """The run loop of this process and its workers, each None until it is needed, and the lock that guards both."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.runner: TapeRunner | None = None
        self.workers: WorkerThreads | None = None


PROCESS = ProcessThreads()


def workers(threads: int) -> WorkerThreads:
    """The workers of this process: at least `threads - 1`, or as many as the system allows."""
    active = PROCESS.workers
    if active is None or len(active.threads) < min(threads - 1, active.max_workers):
        with PROCESS.lock:
            active = PROCESS.workers = PROCESS.workers or WorkerThreads(tape_runner())
            active.grow(threads - 1)
    return active


def tape_runner() -> TapeRunner:
    """The run loop of this process, loaded once."""
    if PROCESS.runner is None:
        with PROCESS.lock, phase("kernels"):
            PROCESS.runner = PROCESS.runner or TapeRunner()
    return PROCESS.runner


def adopt_runner(library: FunctionTable) -> None:
    """Makes the functions `run` and `work` of a library the run loop of this process, unless the process has one."""
    with PROCESS.lock:
        PROCESS.runner = PROCESS.runner or TapeRunner(library)


def reset_after_fork() -> None:
    """Gives a forked child no workers, and a lock that no thread holds."""
    PROCESS.lock, PROCESS.workers = threading.RLock(), None


def stop_workers() -> None:
    """Stops the workers before the interpreter shuts down; a later run starts new ones."""
    with PROCESS.lock:
        active, PROCESS.workers = PROCESS.workers, None
    if active is not None:
        active.stop()


def libc_function(name: str, result: type, *parameters: type) -> Callable[..., int]:
    """A function of the C library.  result, parameters: their ctypes."""
    return ctypes.CFUNCTYPE(result, *parameters)(function_address(name))


atexit.register(stop_workers)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=reset_after_fork)
