"""The garbage collector while a graph or a session is made, and thousands of modules' objects with it.

Collections in between would traverse all new objects again and again, and free none of them: an eighth of the time of a
process's first session.  The first collection afterwards would do so once more, for a fourth of the time that a model
takes to load.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

MIN_PROMOTED = 10_000  # objects; fewer are traversed in less than a millisecond
# Objects promoted between two full collections: about 100 MB, if all of them are garbage by then.
MAX_PROMOTED = 1_000_000

promoted = 0  # objects promoted since the last full collection
full_collections = 0  # the number of full collections when the count `promoted` began


@contextmanager
def pause_gc() -> Iterator[bool]:
    """Disables the cycle collector, which would repeatedly traverse the many objects of a graph under construction.

    Yields whether it was enabled.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield was_enabled
    finally:
        if was_enabled:
            gc.enable()


def promote_young_objects() -> None:
    """Moves the tracked objects of all generations to the oldest one, without traversing them.

    Promoted objects that become garbage wait for a full collection, which this function runs after each million of them.
    `gc.freeze` takes all objects out of the generations, and `gc.unfreeze` puts them into the oldest one; hence nothing
    is done in processes that have frozen objects, which would be unfrozen as well.
    """
    global promoted, full_collections
    count = gc.get_count()[0]
    if count < MIN_PROMOTED or gc.get_freeze_count():
        return
    if (collections := gc.get_stats()[2]["collections"]) != full_collections:
        promoted, full_collections = 0, collections
    promoted += count
    if promoted > MAX_PROMOTED:
        gc.collect()
    else:
        gc.freeze()
        gc.unfreeze()
