"""Status block: the i64 slots through which a run and its native code exchange control state, one buffer a run.

FAULT: set nonzero by a kernel on an out-of-range index, or when a limit is exceeded; the outputs are then invalid.
NODES_CALLED: the number of subgraph nodes executed so far.
MAX_NODES: the limit of NODES_CALLED.
MAX_ITERATIONS: the limit of the iterations of one loop.
EXCEEDED_LIMIT: the limit that was exceeded (`LOOP_LIMIT`, `SCAN_LIMIT` or `NODE_LIMIT`).
EXCEEDED_COUNT: the count that exceeded it.
RESUME_RECORD: the record of the tape at which a run that returned to Python continues.
RESUME_UNIT: the first unit of work of that record that has not been executed.
LONG_UNITS: set to `REFUSED` by a run that returns before a record with units of work that last too long (`tape.py`),
    and to `ALLOWED` by a caller that can wait for such units.
"""

from __future__ import annotations

FAULT, NODES_CALLED, MAX_NODES, MAX_ITERATIONS, EXCEEDED_LIMIT, EXCEEDED_COUNT, RESUME_RECORD = range(7)
RESUME_UNIT, LONG_UNITS = 7, 8
STATUS_SLOTS, SLOT_BYTES = 16, 8  # a multiple of a cache line; the last slots are unused
REFUSED, ALLOWED = 1, 2  # values of LONG_UNITS; 0: none were reached
LOOP_LIMIT, SCAN_LIMIT, NODE_LIMIT = 1, 2, 3  # values of EXCEEDED_LIMIT: loop iterations, scan slices, nodes
UNLIMITED = 1 << 62
