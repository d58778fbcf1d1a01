"""Status block: the i64 slots through which a run and its native code exchange control state, one buffer a run.

FAULT: set nonzero by a kernel on an out-of-range index, or when a limit is exceeded; the outputs are then invalid.
NODES_CALLED: subgraph nodes executed so far.  MAX_NODES, MAX_ITERATIONS: the limits on those and on a loop's iterations.
EXCEEDED_LIMIT, EXCEEDED_COUNT: which limit was exceeded (below), and the count that exceeded it.
RESUME_RECORD: the record of the tape at which a run that returned to Python continues.  RESUME_UNIT: its first unit of
work that has not been executed.  LONG_UNITS: set to `REFUSED` by a run that returns in front of units of work that it would
take too long to wait for (`tape.py`); `ALLOWED` by a caller that can wait for them.
"""

from __future__ import annotations

FAULT, NODES_CALLED, MAX_NODES, MAX_ITERATIONS, EXCEEDED_LIMIT, EXCEEDED_COUNT, RESUME_RECORD = range(7)
RESUME_UNIT, LONG_UNITS = 7, 8
STATUS_SLOTS, SLOT_BYTES = 16, 8  # a multiple of a cache line; the last slots are unused
REFUSED, ALLOWED = 1, 2  # values of LONG_UNITS; 0: none were reached
LOOP_LIMIT, SCAN_LIMIT, NODE_LIMIT = 1, 2, 3  # values of EXCEEDED_LIMIT: loop iterations, scan slices, nodes
UNLIMITED = 1 << 62
