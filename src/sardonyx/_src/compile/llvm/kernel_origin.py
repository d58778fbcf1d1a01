"""Where the kernels of a session come from: from a library where that has them, or only from LLVM on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, TypeAlias

Start: TypeAlias = Literal["library", "compiled"]
STARTS: tuple[Start, ...] = ("library", "compiled")
INTERPRETS: ContextVar[bool] = ContextVar("INTERPRETS", default=False)  # whether kernels may be interpreted
CURRENT: ContextVar[Start] = ContextVar("CURRENT", default="library")  # of the session that is being opened


@contextmanager
def kernels_from(start: Start) -> Iterator[None]:
    """Loads kernels of this origin for the duration of the block, in this thread."""
    token = CURRENT.set(start)
    try:
        yield
    finally:
        CURRENT.reset(token)


def may_use_library() -> bool:
    """Whether kernels that are loaded now may come from a library."""
    return CURRENT.get() == "library"


@contextmanager
def interpreting_kernels() -> Iterator[None]:
    """In this block and thread, kernels that the library lacks may be interpreted until they are compiled."""
    token = INTERPRETS.set(True)
    try:
        yield
    finally:
        INTERPRETS.reset(token)


def may_interpret() -> bool:
    """Whether kernels that are loaded now may be interpreted."""
    return INTERPRETS.get() and may_use_library()
