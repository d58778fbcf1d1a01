"""Parameters of requests: their checks, which are the same for all transports."""

from __future__ import annotations

import time
from collections.abc import Mapping

from sardonyx._src.arguments import shown
from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure
from sardonyx._src.serve.protocol.requests import Parameter

MICROSECONDS = 1e-6
UNSUPPORTED = ("classification", "shared_memory_region")  # parameters of extensions that are not implemented


def parse_parameters(what: str, value: object) -> dict[str, Parameter]:
    """Parameters by name; raises RequestFailure for values that are no scalars, and for extensions that are not supported."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise invalid(f"parameters of {what} must be a JSON object; got {shown(value)}")
    for name, item in value.items():
        if not isinstance(item, bool | int | float | str):
            raise invalid(
                f"parameter {name!r} of {what} must be a number, a boolean or a text; got {shown(item)}"
            )
        if name in UNSUPPORTED:
            raise invalid(f"parameter {name!r} of {what} is of an extension that this server does not have")
    return value


def deadline_of(parameters: Mapping[str, Parameter]) -> float | None:
    """The deadline (`time.monotonic`) that the parameter `timeout` sets, in microseconds from now; as in Triton, 0 sets none."""
    timeout = integer_of(parameters, "timeout")
    return time.monotonic() + timeout * MICROSECONDS if timeout else None


def integer_of(parameters: Mapping[str, Parameter], name: str) -> int:
    value = parameters.get(name, 0)
    if type(value) is not int or not 0 <= value < 1 << 64:
        raise invalid(f"parameter {name!r} must be an integer >= 0; got {shown(value)}")
    return value


def invalid(why: str) -> RequestFailure:
    return RequestFailure(FailureKind.INVALID, why)
