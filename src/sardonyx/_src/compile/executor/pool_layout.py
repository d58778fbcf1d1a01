"""Memory layout of tape records and of the thread pool, in i64 slots.

A tape is the list of kernel calls of a run, one record each.  A call consists of units of work, which threads take in chunks.
The units of a product of matrices are a grid: panels of B, each with groups of rows of A (`scheduling.py`).
"""

from __future__ import annotations

RECORD_SLOTS = 8  # slots of a tape record
KERNEL, ARGS, UNITS, WEIGHT, JUMP, FLAG, ROW_GROUPS, BLOCK_GROUPS = range(RECORD_SLOTS)
# Fields of a record.  KERNEL, ARGS: addresses of the function and of its arguments.  UNITS: units of work.
# WEIGHT: estimated ns of the record.  JUMP: a distance in records, 0 for no jump.  FLAG: the address of its condition.
# ROW_GROUPS: the row groups of each panel, 0 for no grid.  BLOCK_GROUPS: the most row groups of a block.

# Slots of the pool.  Slots written by different threads are 128 bytes (two cache lines) apart, against false sharing.
# The least weight, in ns, of a parallel job, of a chunk, and of all jobs of a run that wakes workers.
JOB_THRESHOLD, GRAIN_SIZE, WAKE_THRESHOLD = 0, 1, 2
# Addresses of system functions.
SCHED_YIELD, MUTEX_LOCK, MUTEX_UNLOCK, CONDITION_WAIT, CONDITION_SIGNAL = 3, 4, 5, 6, 7
GET_CPU, GET_AFFINITY, SET_AFFINITY = 8, 9, 10  # addresses of functions on CPUs and affinity, or 0
GET_TIME = 11  # address of clock_gettime, or 0: workers then sleep between all runs
STOP_REQUESTED = 16  # nonzero: workers exit
POOL_LOCK = 32  # 1: held by a run
CALLER_CPU = 33  # the CPU on which that run started
CURRENT_RUN = 48  # run number << 16 | number of threads of the run, which is 0 between runs
CHUNKS_DONE = 80  # chunks of the current job that are finished
JOB_KERNEL, JOB_ARGS, JOB_FIRST, JOB_MIN_CHUNK, JOB_SCRATCH, JOB_STRIDE = range(96, 102)
JOB_PANELS, JOB_GROUPS, JOB_BLOCK = 102, 103, 104  # panels; row groups of a panel; most row groups of a block
WORKERS_BEGIN = 112  # first slot of the workers; worker 0 is the caller, which uses only CLAIM
WORKER_SLOTS = 96  # slots of a worker

# Slots of a worker, from its first slot on.
POOL, INDEX, THREAD = 0, 1, 2
AVOIDED_CPU = 3  # 1 + the CPU that is excluded from the worker's affinity
IS_EAGER = 4  # 1 if its last rest was short, so that it spends the next one awake
HAS_CPU = 5  # 1 if there is a CPU for each thread up to this one
MUTEX, CONDITION = 16, 48  # 256 bytes each
CLAIM = (
    80  # the thread's chunk queue, one word of three fields: threads, chunks, next chunk (`scheduling.py`)
)

# Estimates and limits.
ASSUMED_ITERATIONS = 8  # iterations of a loop, where the total weight of a run is estimated
SIGNAL_INTERVAL = 20_000_000  # estimated ns of a thread after which a run returns to Python to handle signals
MAX_INTERVAL_THREADS = 16  # the interval grows with the threads, up to this number
MAX_UNIT_WEIGHT = (
    2 * SIGNAL_INTERVAL
)  # estimated ns of a unit; a run refuses longer ones unless its caller allows them
UNKNOWN_WEIGHT = 1 << 60  # ns; a weight of at least this means that there is no estimate
UNKNOWN_WEIGHT_SLICES = 64  # parts into which a record of unknown weight is divided
# A job is a grid if it has at least this many row groups for each thread, and as many as there are threads; the units of
# other jobs are one sequence.
MIN_ROW_GROUPS = 8
RECORD_OVERHEAD = 16  # estimated ns of any record, so that loops of tiny records reach the interval, too
SPIN_COUNT = 2000  # pauses of a waiting thread before it yields the CPU
SPIN_INTERVAL = 100_000  # ns after a run for which an eager worker stays awake
PAUSES_PER_LOOK = 4  # pauses of an eager worker between two looks for a run
MAX_THREADS = 256
NEVER_PARALLEL = (1 << 63) - 1  # a job threshold that no record reaches
