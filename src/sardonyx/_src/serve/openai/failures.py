"""Failures in the form of the interface: `{"error": {"message", "type", "param", "code"}}`."""

from __future__ import annotations

from sardonyx._src.errors import InputError, LimitError
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure

TYPES = {
    FailureKind.BUSY: "rate_limit_error",
    FailureKind.DEADLINE: "timeout_error",
    FailureKind.UNAVAILABLE: "server_error",
    FailureKind.INTERNAL: "server_error",
}
CODES = {
    FailureKind.BUSY: "rate_limit_exceeded",
    FailureKind.UNAUTHENTICATED: "invalid_api_key",
}
# The parameters that errors of a generator and limits of a batch are about, where they have other names.
RENAMED = {"tokens": "prompt"}
LIMITED = {"max_rows": "n", "max_cache_bytes": "max_tokens"}
INVALID = "invalid_request_error"
CONTEXT_LENGTH, MODEL_NOT_FOUND, UNSUPPORTED = (
    "context_length_exceeded",
    "model_not_found",
    "unsupported_parameter",
)


class ParameterFailure(RequestFailure):
    """A request that is refused because of one of its parameters.

    param: its path in the request, as `messages[0].role`.
    code: of the interface, for programs.
    """

    def __init__(
        self, param: str, why: str, *, code: str | None = None, kind: FailureKind = FailureKind.INVALID
    ) -> None:
        super().__init__(kind, why)
        self.param, self.code = param, code


def describe_error(text: str, status: int, failure: RequestFailure | None) -> dict[str, object]:
    """The JSON of an error."""
    param = code = None
    kind = INVALID
    if failure is not None:
        kind, code = TYPES.get(failure.kind, INVALID), CODES.get(failure.kind)
    if isinstance(failure, ParameterFailure):
        param, code = failure.param, failure.code
    elif failure is not None and isinstance(failure.__cause__, InputError):
        param = RENAMED.get(failure.__cause__.name, failure.__cause__.name)
    elif failure is not None and isinstance(failure.__cause__, LimitError):
        param = LIMITED.get(failure.__cause__.limit)
    return {"error": {"message": text, "type": kind, "param": param, "code": code}}
