"""A bound on the bytes of all requests that a service holds at one time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sardonyx._src.serve.failures import FailureKind, RequestFailure

RETRY_SECONDS = 1.0


class HeldBytes:
    """Counts the bytes that requests hold, and refuses more than a limit.  All methods are called on the event loop."""

    __slots__ = ("count", "limit")

    def __init__(self, limit: int) -> None:
        self.limit, self.count = limit, 0

    def add(self, nbytes: int) -> None:
        """Raises RequestFailure (BUSY) past the limit, and then adds nothing."""
        if self.count + nbytes > self.limit:
            why = f"the requests in progress must have at most {self.limit} bytes; try again later"
            raise RequestFailure(FailureKind.BUSY, why, retry_after=RETRY_SECONDS)
        self.count += nbytes

    def remove(self, nbytes: int) -> None:
        self.count -= nbytes

    @contextmanager
    def holding(self, nbytes: int) -> Iterator[None]:
        """Counts bytes in a block."""
        self.add(nbytes)
        try:
            yield
        finally:
            self.remove(nbytes)
