"""The threads of this process that run tapes: one set of native workers, asleep while nothing runs.

Workers are made by `pthread_create` on native code and never enter Python: they need no interpreter lock, and the end
of the interpreter neither waits for them nor stops them in the middle of Python.  Before Python takes itself down they
are told to leave and are joined, so that none runs in code that is being unloaded; one that is in a chunk finishes it.
They take no signals, which Python wants on its own threads.

A forked child has no workers, and the state of its parent's is of no use to it (a run may have held the pool), so it
begins afresh.  Where there are no pthreads (Windows) a pool has one thread, its caller.
"""

from __future__ import annotations

import atexit
import ctypes
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from sardonyx._src.compile import pool_words as words
from sardonyx._src.compile import tape
from sardonyx._src.compile.llvm.cache import Cache, default_folder
from sardonyx._src.compile.llvm.executable import function_address, private
from sardonyx._src.compile.llvm.jit import host, load
from sardonyx._src.runtime.cpus import available

WORD, LINE = 8, 128  # bytes; LINE keeps apart what different threads write
DEFAULTS = {words.THRESHOLD: 5_000, words.GRAIN: 2_500, words.WORTH: 100_000}  # nanoseconds
SYSTEM = {
    words.YIELD: "sched_yield",
    words.TAKE: "pthread_mutex_lock",
    words.GIVE: "pthread_mutex_unlock",
    words.WAIT: "pthread_cond_wait",
    words.SIGNAL: "pthread_cond_signal",
}
PROCESSORS = {
    words.WHERE: "sched_getcpu",
    words.ALLOWED: "sched_getaffinity",
    words.ALLOW: "pthread_setaffinity_np",
}
HAS_THREADS = sys.platform != "win32"
FAULTS = {"SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL"}  # of the thread itself: they stay open, for fault handlers
Run = Callable[[int, int, int, int, int, int, int], int]
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Scratch:
    """Memory for the threads of one run, zero at first; that of thread i begins `i * stride` bytes behind `address`."""

    address: int
    stride: int
    memory: object = field(repr=False)  # keeps it alive


@dataclass(frozen=True, slots=True)
class Pool:
    """`threads` threads, the caller of `run` among them; pools of one process share their workers."""

    threads: int

    @property
    def address(self) -> int:
        """The memory of the workers, which this makes if need be; 0 for one thread.  Not for a forked child."""
        return workers(self.threads).address if self.threads > 1 else 0

    def scratch(self, size: int) -> Scratch:
        """Scratch of `size` bytes for each thread; for one run at a time.  Pages come into being when touched."""
        stride = -(-size // LINE) * LINE
        memory = ctypes.c_char.from_buffer(private(max(stride * self.threads, 1)))
        return Scratch(ctypes.addressof(memory), stride, memory)

    def run(self, tape: int, first: int, last: int, scratch: Scratch) -> int:
        """Runs the records from `first` up to `last` of the tape at an address; answers the first that is Python's.

        The tape, its arguments and all that these point to must stay alive and in place meanwhile.
        """
        if self.threads == 1:
            return native().run(tape, first, last, 0, 1, scratch.address, scratch.stride)
        found = workers(self.threads)
        threads = min(self.threads, len(found.threads) + 1)
        return found.code.run(tape, first, last, found.address, threads, scratch.address, scratch.stride)


def shared(threads: int | None = None) -> Pool:
    """The pool of that many threads; None: of as many as can run at once."""
    count = available() if threads is None else threads
    assert count >= 1, f"a pool of {count} threads has no caller"
    return Pool(min(count, words.MOST_THREADS) if HAS_THREADS else 1)


class Functions(Protocol):
    """Native functions by name; their addresses hold as long as this does."""

    addresses: dict[str, int]


class Code:
    """The native code of `compile.tape`."""

    def __init__(self, library: Functions | None = None) -> None:
        """library: has it compiled already."""
        folder = default_folder()
        cache = Cache(folder) if folder else None
        self.library = library or load(tape.source(host()), ["run", "work"], cache)
        word, pointer = ctypes.c_int64, ctypes.c_void_p
        types = (pointer, word, word, pointer, word, pointer, word)
        self.run: Run = ctypes.CFUNCTYPE(word, *types)(self.library.addresses["run"])
        self.work = self.library.addresses["work"]


class Workers:
    """The native threads of this process, and the memory by which they are told what to do.

    The memory is never freed: a run in a thread that the interpreter leaves behind may look at it until the end.
    """

    def __init__(self, code: Code) -> None:
        self.code = code
        self.most = words.MOST_THREADS - 1  # fewer once the system has refused one
        calloc = system("calloc", ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t)
        size = (words.WORKERS + words.MOST_THREADS * words.WORKER) * WORD
        self.address = -(-calloc(1, size + LINE) // LINE) * LINE
        self.words = (ctypes.c_int64 * (size // WORD)).from_address(self.address)
        self.threads: list[int] = []  # the workers that were begun, by their numbers
        for word, value in DEFAULTS.items():
            self.words[word] = value
        functions = SYSTEM | PROCESSORS if sys.platform == "linux" else SYSTEM
        for word, name in functions.items():
            self.words[word] = function_address(name)

    def place(self, index: int, word: int = 0) -> int:
        """The address of a word of worker `index`, which counts from 1."""
        return self.address + (words.WORKERS + index * words.WORKER + word) * WORD

    def grow(self, count: int) -> None:
        """Makes workers until there are `count`, or as many as the system lets us have."""
        while len(self.threads) < min(count, self.most):
            error = self.start(len(self.threads) + 1)
            if error:
                self.most = len(self.threads)
                log.warning("of %d workers only %d start: %s", count, self.most, os.strerror(error))

    def start(self, index: int) -> int:
        """Makes the next worker, with its signals blocked; answers the system's error, or 0."""
        first = words.WORKERS + index * words.WORKER
        self.words[first + words.POOL], self.words[first + words.INDEX] = self.address, index
        for name, word in (("pthread_mutex_init", words.MUTEX), ("pthread_cond_init", words.CONDITION)):
            failed = system(name, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(
                self.place(index, word), None
            )
            assert not failed, f"{name} answers {failed}"
        create = system("pthread_create", ctypes.c_int, *[ctypes.c_void_p] * 4)
        before = signal.pthread_sigmask(
            signal.SIG_BLOCK, [s for s in signal.valid_signals() if getattr(s, "name", "") not in FAULTS]
        )
        self.threads.append(index)  # before there is one: after an interrupt it must not be made again
        try:
            error = create(self.place(index, words.THREAD), None, self.code.work, self.place(index))
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if error:
            self.threads.pop()
        return int(error)

    def stop(self) -> None:
        """Tells the workers to leave and waits until they have; a run that goes on does so alone."""
        self.words[words.STOP] = 1
        for index in range(1, len(self.threads) + 1):
            for word, place in (
                (words.TAKE, words.MUTEX),
                (words.GIVE, words.MUTEX),
                (words.SIGNAL, words.CONDITION),
            ):
                system(SYSTEM[word], ctypes.c_int, ctypes.c_void_p)(self.place(index, place))
        join = system("pthread_join", ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
        for index in self.threads:
            thread = self.words[words.WORKERS + index * words.WORKER + words.THREAD]
            if thread:  # none, if an interrupt came before it was made
                join(thread, None)


class Process:
    """What this process has: the native code, its workers once they were wanted, and the lock of both."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.code: Code | None = None
        self.workers: Workers | None = None


PROCESS = Process()


def workers(threads: int) -> Workers:
    """The workers of this process, as many as `threads` threads need beside the caller if the system lets us."""
    found = PROCESS.workers
    if found is None or len(found.threads) < min(threads - 1, found.most):
        with PROCESS.lock:
            found = PROCESS.workers = PROCESS.workers or Workers(native())
            found.grow(threads - 1)
    return found


def native() -> Code:
    """The native code, loaded once."""
    if PROCESS.code is None:
        with PROCESS.lock:
            PROCESS.code = PROCESS.code or Code()
    return PROCESS.code


def adopt(library: Functions) -> None:
    """Makes `run` and `work` of a library the native code of this process, unless it has some."""
    with PROCESS.lock:
        PROCESS.code = PROCESS.code or Code(library)


def forget() -> None:
    """In a child: no workers, and a lock that nobody holds."""
    PROCESS.lock, PROCESS.workers = threading.RLock(), None


def end() -> None:
    """Ends the workers before the interpreter does; those that are wanted later are new."""
    with PROCESS.lock:
        found, PROCESS.workers = PROCESS.workers, None
    if found is not None:
        found.stop()


def system(name: str, result: type, *parameters: type) -> Callable[..., int]:
    """A function of the C library, with these ctypes."""
    return ctypes.CFUNCTYPE(result, *parameters)(function_address(name))


atexit.register(end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=forget)
