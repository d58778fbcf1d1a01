"""JSON of requests and responses, by orjson.

Texts with NaN or infinities are decoded by the standard library, which accepts tokens for them.
"""

from __future__ import annotations

import json

import orjson

from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure

NON_FINITE = (b"NaN", b"Infinity")


def parse_object(data: bytes | bytearray | memoryview) -> dict[str, object]:
    """The object in a JSON text; raises RequestFailure for any other text."""
    value = parse_json(data)
    if type(value) is not dict:
        raise RequestFailure(
            FailureKind.INVALID, f"the request must be a JSON object; got {type(value).__name__}"
        )
    return value


def parse_json(data: bytes | bytearray | memoryview) -> object:
    """The value of a JSON text, which may have NaN and infinities; raises RequestFailure for any other text."""
    try:
        return orjson.loads(data)
    except ValueError as error:
        return parse_non_finite(bytes(data), error)


def parse_non_finite(data: bytes, error: ValueError) -> object:
    """The value of a text that is JSON except for NaN and infinities; raises RequestFailure for any other text.

    error: the error of orjson, for the message.
    """
    if any(token in data for token in NON_FINITE):
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            pass
    raise RequestFailure(FailureKind.INVALID, f"the request must be JSON: {error}") from None


def format_json(value: object) -> bytes:
    """JSON text of a value, which may contain NumPy arrays; NaN and infinities are null."""
    return orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY)
