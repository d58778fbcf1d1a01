"""Locks that a forked child replaces, since another thread of its parent may have held them at the fork."""

from __future__ import annotations

import os
from typing import Protocol

from sardonyx._src.compile.llvm.live_objects import LiveObjects


class LockOwner(Protocol):
    """An object with locks of its own."""

    def renew_locks(self) -> None:
        """Replaces the locks."""
        ...


LOCK_OWNERS: LiveObjects[LockOwner] = LiveObjects()


def renew_locks() -> None:
    """Renews the locks of all owners, in a forked child."""
    for owner in tuple(LOCK_OWNERS):
        owner.renew_locks()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=renew_locks)
