"""Bases: the addresses, chosen when a program is loaded, to which the offsets in its slots are added."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from sardonyx._src.compile.program import Buffer, Kernel
    from sardonyx._src.compile.program.steps.cached_count import CachedCount

NO_BASE, ARENA_BASE, SLOTS_BASE, STATUS_BASE = 0, 1, 2, 3  # bases that every program has
RelocationBase: TypeAlias = (
    "Buffer | Kernel | CachedCount"  # what other bases are the addresses or numbers of
)
