"""Limits on the memory of one request, and of all requests in progress: codecs count bytes before they store them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure

RETRY_SECONDS = 1.0  # seconds after which a refused client may try again


class HeldBytes:
    """Counts the bytes that requests hold, and refuses more than a limit.  Methods may be called from any thread."""

    __slots__ = ("_lock", "count", "limit")

    def __init__(self, limit: int) -> None:
        self.limit, self.count = limit, 0
        self._lock = threading.Lock()

    def add(self, nbytes: int) -> None:
        """Adds bytes to the count.  If they would exceed the limit, raises RequestFailure (BUSY) and adds nothing."""
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
        """Counts bytes for the duration of the block."""
        self.add(nbytes)
        try:
            yield
        finally:
            self.remove(nbytes)

    @contextmanager
    def allowance(self, limit: int, what: str) -> Iterator[Allowance]:
        """An `Allowance` for the duration of the block; at its end the bytes that the request has added are removed.

        limit, what: as of `Allowance`.
        """
        allowance = Allowance(self, limit, what)
        try:
            yield allowance
        finally:
            allowance.close()


class Allowance:
    """A limit on bytes that are made for one request, and their count: of its decoded tensors, or of its response.

    Codecs, which may run in threads, add bytes before they store them.
    """

    __slots__ = ("_held", "_is_open", "_limit", "_lock", "_what", "count")

    def __init__(self, held: HeldBytes, limit: int, what: str) -> None:
        """what: the name of the limit and its subject, for messages, such as "limits.response: a response"."""
        self._held, self._limit, self._what = held, limit, what
        self.count, self._is_open = 0, True
        self._lock = threading.Lock()

    def add(self, nbytes: int) -> None:
        """Adds bytes.  Raises RequestFailure: TOO_LARGE beyond the limit of the request, BUSY beyond that of all requests."""
        with self._lock:
            if not self._is_open:
                raise RequestFailure(FailureKind.CANCELLED, "the request has ended")
            self.check(nbytes)
            self._held.add(nbytes)
            self.count += nbytes

    def check(self, nbytes: int) -> None:
        """Raises RequestFailure (TOO_LARGE) if `nbytes` more bytes would exceed the limit of the request."""
        if self.count + nbytes > self._limit:
            why = f"{self._what} must take at most {self._limit} bytes; got {self.count + nbytes} or more"
            raise RequestFailure(FailureKind.TOO_LARGE, why)

    def close(self) -> None:
        """Removes the bytes.  A codec that still works for a cancelled request fails when it adds bytes the next time."""
        with self._lock:
            self._is_open = False
            self._held.remove(self.count)
