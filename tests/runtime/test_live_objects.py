"""Sets of live objects keep nothing alive, and the garbage collector calls no Python code for them."""

from __future__ import annotations

import gc
import sys
from types import FrameType

from sardonyx._src.compile.llvm.executable_memory import CODE_OWNERS
from sardonyx._src.compile.llvm.live_objects import MIN_REMOVAL, LiveObjects
from sardonyx._src.runtime.specialization.fork_locks import LOCK_OWNERS


class Item:
    pass


def test_objects_that_are_gone_are_forgotten() -> None:
    objects: LiveObjects[Item] = LiveObjects()
    items = [Item() for _ in range(3)]
    for item in items:
        objects.add(item)
    for _ in range(10 * MIN_REMOVAL):
        objects.add(Item())
    assert set(objects) == set(items)
    assert len(objects.references) < 3 * MIN_REMOVAL
    del items[0], item
    assert set(objects) == set(items)


def test_the_end_of_an_object_calls_no_python_code() -> None:
    """A signal handler that raises there would raise in vain."""
    owners = [Item() for _ in range(3)]
    for owner in owners:
        CODE_OWNERS.add(owner)
        LOCK_OWNERS.add(owner)  # type: ignore[arg-type]  # never renewed
        owner.__dict__["itself"] = owner  # left to the garbage collector
    gc.collect()  # what other tests left
    calls: list[str] = []

    def record(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            calls.append(frame.f_code.co_name)

    callbacks = gc.callbacks[:]
    gc.callbacks.clear()  # those of test tools
    sys.setprofile(record)
    try:
        del owner, owners
        gc.collect()
    finally:
        sys.setprofile(None)
        gc.callbacks.extend(callbacks)
    assert calls == []
