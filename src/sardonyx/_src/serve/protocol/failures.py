"""Failures of requests, in kinds that each transport maps to its own codes."""

from __future__ import annotations

import enum
import logging

from sardonyx._src.errors import CancelledError, EvaluationError, InputError, LimitError, SardonyxError

LOG = logging.getLogger("sardonyx.serve")


class FailureKind(enum.Enum):
    """Why a request is refused or has failed."""

    NOT_FOUND = "not_found"  # no such model, version or path
    INVALID = "invalid"  # a request that can never succeed
    TOO_LARGE = "too_large"  # beyond a limit on sizes, which the configuration of the service may raise
    BUSY = "busy"  # a full queue: the same request may succeed later
    DEADLINE = "deadline"  # the request's own deadline, or the limit on run time
    SLOW_CLIENT = "slow_client"  # the request itself arrives too slowly
    CANCELLED = "cancelled"  # the client no longer waits
    UNAVAILABLE = "unavailable"  # the model is loading, failed to load, or the service is shutting down
    UNAUTHENTICATED = "unauthenticated"  # a token is required
    FORBIDDEN = "forbidden"  # disabled by the configuration
    INTERNAL = "internal"  # not the fault of the client


class RequestFailure(SardonyxError):
    """A request that is refused or has failed; the message is for the client.

    retry_after: seconds after which the same request may succeed, if that is known.
    """

    def __init__(self, kind: FailureKind, why: str, *, retry_after: float | None = None) -> None:
        self.kind, self.why, self.retry_after = kind, why, retry_after
        super().__init__(why)


def failure_of(error: SardonyxError) -> RequestFailure:
    """The failure of a request whose run raised `error`.  The error becomes its cause; a RequestFailure is returned unchanged."""
    if isinstance(error, RequestFailure):
        return error
    failure = RequestFailure(kind_of(error), str(error))
    failure.__cause__ = error
    return failure


def kind_of(error: SardonyxError) -> FailureKind:
    """The kind of failure that the client gets for an error of a session's run."""
    match error:
        case RequestFailure():
            return error.kind
        case InputError() | EvaluationError():
            return FailureKind.INVALID
        case LimitError(limit="limits.seconds" | "timeout"):
            return FailureKind.DEADLINE
        case LimitError():
            return FailureKind.TOO_LARGE
        case CancelledError():
            return FailureKind.CANCELLED
    return FailureKind.INTERNAL


def internal_failure(what: str, error: Exception) -> RequestFailure:
    """The failure of a request for an error that is a defect of the service.  The error is logged, and hidden from the client.

    what: the request, for the log.
    """
    LOG.error("%s failed", what, exc_info=error)
    return RequestFailure(FailureKind.INTERNAL, "internal error; the log of the service has its cause")


def log_internal(what: str, failure: RequestFailure) -> None:
    """Logs a failure that is not the client's fault.  what: the request, for the log."""
    if failure.kind is FailureKind.INTERNAL:
        LOG.error("%s: %s", what, failure.why, exc_info=failure.__cause__)
