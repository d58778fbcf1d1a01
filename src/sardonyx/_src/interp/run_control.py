"""Reasons to end a run early: cancellation, a deadline, or a caller that no longer waits for it."""

from __future__ import annotations

import time

from sardonyx._src.errors import CancelledError, LimitError


class Cancellation:
    """The number of cancellations of a session so far; each one ends the runs that are in progress at that time."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def cancel(self) -> None:
        """Ends the runs in progress.  Two calls at the same time may count as one."""
        self.count += 1


class CancellationToken:
    """Ends the runs to which it is passed: `session.run(feeds, cancellation=token)`, and `token.cancel()` in any thread.

    A run with a token that is already cancelled ends before its first node.
    """

    __slots__ = ("is_cancelled",)

    def __init__(self) -> None:
        self.is_cancelled = False

    def cancel(self) -> None:
        """Ends the runs in progress and to come that have the token, each with a CancelledError."""
        self.is_cancelled = True


class RunControl:
    """Whether one run must end.  The engines call `check` between nodes and between slices of long kernels."""

    __slots__ = ("cancellation", "deadline", "is_abandoned", "limit", "seconds", "started_at", "token")

    def __init__(
        self,
        cancellation: Cancellation,
        started_at: int | None = None,
        *,
        seconds: float | None = None,
        limit: str = "timeout",
        token: CancellationToken | None = None,
    ) -> None:
        """cancellation: the cancellations of the session.
        started_at: the count of cancellations when the run began; None: the current count.
        seconds: the longest duration of the run, from now on; None: no limit.
        limit: the name of the parameter that sets `seconds`, for messages.
        token: a token by which the caller may end the run as well.
        """
        self.cancellation = cancellation
        self.started_at = cancellation.count if started_at is None else started_at
        self.seconds, self.limit = seconds, limit
        self.deadline = None if seconds is None else time.monotonic() + seconds
        self.is_abandoned, self.token = False, token

    def check(self) -> None:
        """Raises CancelledError, or LimitError after the deadline."""
        is_cancelled = self.token is not None and self.token.is_cancelled
        if is_cancelled or self.is_abandoned or self.cancellation.count != self.started_at:
            raise CancelledError("the run was cancelled")
        if self.deadline is not None and time.monotonic() >= self.deadline:
            raise LimitError(f"a run must take at most {self.seconds:g} s", limit=self.limit)

    def abandon(self) -> None:
        """Ends the run at the next check, since its caller has stopped waiting."""
        self.is_abandoned = True
