"""The words of memory by which runs and workers of a pool speak, and the instructions that know them."""

from __future__ import annotations

from sardonyx._src.compile.atomics import Native
from sardonyx._src.compile.blocks import I64, Slot
from sardonyx._src.compile.text import Value

RECORD = 8  # words of a record of a tape
KERNEL, ARGS, UNITS, WEIGHT, JUMP, FLAG = range(6)  # JUMP: records; 0: the next one.  FLAG: an address

# Words of a pool.  What different threads write lies 128 bytes apart, which is two lines of a cache.
THRESHOLD, GRAIN, WORTH = 0, 1, 2  # ns: of a job; of a chunk; of all jobs, for workers to be woken
YIELD, TAKE, GIVE, WAIT, SIGNAL = 3, 4, 5, 6, 7  # addresses of functions of the system
WHERE, ALLOWED, ALLOW = 8, 9, 10  # the same, of the system's words about processors; 0 where it has none
STOP = 16  # not 0: workers leave
LOCK = 32  # 1: a run has the pool
CALLER = 33  # the processor on which that run began
RUN = 48  # serial number of the run << 16 | its threads, 0 between runs
DONE = 80
JOB_KERNEL, JOB_ARGS, JOB_UNITS, JOB_LEAST, JOB_SCRATCH, JOB_STRIDE = range(96, 102)
WORKERS = 112  # where they begin; worker i is the i-th, and of the 0-th, the caller's, only CLAIM is used
WORKER = 96  # words of a worker
POOL, INDEX, THREAD, MUTEX, CONDITION = 0, 1, 2, 16, 48  # of a worker; the last two have 256 bytes each
AWAY = 3  # the processor that a worker is kept away from, and 1
CLAIM = 80  # which chunks of the thread's own units are left

ROUNDS = 8  # of a loop, where it is guessed whether workers are worth waking
STRETCH = 20_000_000  # nominal nanoseconds of a thread, behind which a run comes back so that Python may handle signals
MOST_COUNTED = 16  # threads that make it longer: records that one thread does alone take as much longer as there are others
STARTED = 16  # nominal nanoseconds of any record, which loops of nothing but small ones come to
PATIENCE = 2000  # pauses before a thread that waits offers its core to others
MOST_THREADS = 256
NEVER = (1 << 63) - 1


class Tape(Native):
    """The instructions of a function that knows the words of a pool."""

    def system(self, pool: str, function: int, *operands: str) -> None:
        """Calls a function of the system whose address stands in the pool, with pointers."""
        arguments = ", ".join(f"ptr {operand}" for operand in operands)
        self.emit(I64.of("i32"), f"call i32 {self.pointer(pool, function)}({arguments})")

    def processor(self, pool: str) -> Value:
        """The processor that this thread is on, where the system tells."""
        found = self.emit(I64.of("i32"), f"call i32 {self.pointer(pool, WHERE)}()")
        return found.converted("sext", "i64")

    def kernel(self, kernel: str, args: str, first: Value | int, last: Value, scratch: str) -> None:
        first = self.operand(first, I64)
        self.lines.append(f" call void {kernel}(ptr {args}, {first}, {last}, ptr {scratch})")

    def rest(self, pool: str, tries: Slot) -> None:
        """Waits a moment; after many, lets other threads have the core."""
        n = self.read(tries) + 1
        self.write(tries, n)
        self.either(n < PATIENCE, self.pause, lambda: self.system(pool, YIELD))
