"""Bounds on the bytes that one request, and all requests of a service at one time, hold."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure

RETRY_SECONDS = 1.0


class HeldBytes:
    """Counts the bytes that requests hold, and refuses more than a limit.  Methods may be called from any thread."""

    __slots__ = ("_lock", "count", "limit")

    def __init__(self, limit: int) -> None:
        self.limit, self.count = limit, 0
        self._lock = threading.Lock()

    def add(self, nbytes: int) -> None:
        """Raises RequestFailure (BUSY) past the limit, and then adds nothing."""
        with self._lock:
            if self.count + nbytes <= self.limit:
                self.count += nbytes
                return
        why = f"the requests in progress must have at most {self.limit} bytes; try again later"
        raise RequestFailure(FailureKind.BUSY, why, retry_after=RETRY_SECONDS)

    def remove(self, nbytes: int) -> None:
        with self._lock:
            self.count -= nbytes

    @contextmanager
    def holding(self, nbytes: int) -> Iterator[None]:
        """Counts bytes in a block."""
        self.add(nbytes)
        try:
            yield
        finally:
            self.remove(nbytes)

    @contextmanager
    def allowance(self, limit: int, what: str) -> Iterator[Allowance]:
        """What one request may add in a block, at the end of which its bytes are removed."""
        allowance = Allowance(self, limit, what)
        try:
            yield allowance
        finally:
            allowance.close()


class Allowance:
    """The bytes that one request makes: of its decoded tensors, or of its response.

    Codecs count in their threads what they are about to store.
    """

    __slots__ = ("_held", "_is_open", "_limit", "_lock", "_what", "count")

    def __init__(self, held: HeldBytes, limit: int, what: str) -> None:
        """what: the limit and its subject, for messages, as "limits.response: a response"."""
        self._held, self._limit, self._what = held, limit, what
        self.count, self._is_open = 0, True
        self._lock = threading.Lock()

    def add(self, nbytes: int) -> None:
        """Raises RequestFailure: TOO_LARGE past the limit of the request, BUSY past that of all."""
        with self._lock:
            if not self._is_open:
                raise RequestFailure(FailureKind.CANCELLED, "the request has ended")
            self.check(nbytes)
            self._held.add(nbytes)
            self.count += nbytes

    def check(self, nbytes: int) -> None:
        """Raises RequestFailure (TOO_LARGE) if `nbytes` more exceed the limit of the request."""
        if self.count + nbytes > self._limit:
            why = f"{self._what} must take at most {self._limit} bytes; got {self.count + nbytes} or more"
            raise RequestFailure(FailureKind.TOO_LARGE, why)

    def close(self) -> None:
        """Removes the bytes; a codec that still works for the request, which has been cancelled, ends with its next count."""
        with self._lock:
            self._is_open = False
            self._held.remove(self.count)
