"""Garbage collection of a service: what lives as long as its models is not looked at again and again.

A full collection keeps the interpreter while it looks at every object, those of all imported modules and open models among them:
some 70 ms, in which the event loop waits.  Requests with many small objects cause one after the other.
"""

from __future__ import annotations

import gc
import threading

HAS_CHANGED = threading.Event()  # models were opened or closed
HAS_CHANGED.set()


def exempt_objects() -> None:
    """Collects the garbage, and exempts what remains from later collections; does nothing if that is done and nothing has changed."""
    if HAS_CHANGED.is_set():
        HAS_CHANGED.clear()
        gc.unfreeze()
        gc.collect()
        gc.freeze()


def end_exemption() -> None:
    """Has all objects collected again: models were opened or closed, or the service has ended."""
    gc.unfreeze()
    HAS_CHANGED.set()
