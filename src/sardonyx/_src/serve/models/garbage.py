"""Garbage collection of a service: objects that live as long as its models are exempt from collections.

A full collection visits every object, including those of all imported modules and open models, and holds the interpreter for
some 70 ms, in which the event loop waits.  Requests with many small objects cause one collection after the other.
"""

from __future__ import annotations

import gc
import threading

HAS_CHANGED = threading.Event()  # models were opened or closed
HAS_CHANGED.set()


def exempt_objects() -> None:
    """Collects garbage, and exempts the remaining objects from later collections.

    Does nothing if no model was opened or closed since the last call.
    """
    if HAS_CHANGED.is_set():
        HAS_CHANGED.clear()
        gc.unfreeze()
        gc.collect()
        gc.freeze()


def end_exemption() -> None:
    """Ends the exemption of all objects, because models were opened or closed, or the service has ended."""
    gc.unfreeze()
    HAS_CHANGED.set()
