"""The words by which a run and its native code tell each other what no tensor says: 8 bytes each, in one storage.

FAULT is what kernels note: not 0 for an index out of range, and then nothing that the run has made is any good.
NODES are those of subgraphs that the run has called so far, MOST_NODES how many of them there may be, ITERATIONS how
often a loop may run.  Where one of these is passed LIMIT says which, COUNT what it came to, and FAULT is set too.
AT is the record at which a run that has come back to Python goes on.
"""

from __future__ import annotations

FAULT, NODES, MOST_NODES, ITERATIONS, LIMIT, COUNT, AT = range(7)
WORDS, WORD = 8, 8  # how many there are, with one to spare; bytes of each
LOOPED, SCANNED, CALLED = 1, 2, 3  # limits: iterations of a loop, slices of a scan, nodes
MOST = 1 << 62  # of what may be
