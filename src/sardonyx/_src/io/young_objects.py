"""Promotion of new objects to the oldest generation of the garbage collector.

The first collection after a model has been loaded would traverse all of its objects, which takes a fourth of the time
of loading, and free none of them.
"""

from __future__ import annotations

import gc

MIN_PROMOTED = 10_000  # objects; fewer are traversed in less than a millisecond
MAX_PROMOTED = (
    1_000_000  # objects between two full collections: about 100 MB, if all of them are garbage by then
)

promoted = 0  # objects since the last full collection
full_collections = 0  # when the count began


def promote_young_objects() -> None:
    """Moves the tracked objects of all generations to the oldest one, without traversing them.

    Promoted objects that become garbage wait for a full collection, which this function runs after each million of them.
    Does nothing in processes that have frozen objects, since these would be unfrozen.
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
