"""Authorization of requests by a token, in the header or the metadata `authorization: Bearer TOKEN` (RFC 6750, 2.1)."""

from __future__ import annotations

import hmac

from sardonyx._src.serve.protocol.failures import FailureKind, RequestFailure


class Authorization:
    """The token that requests must have; "": none is required."""

    def __init__(self, token: str) -> None:
        self._expected = f"Bearer {token}".encode() if token else b""

    @property
    def is_required(self) -> bool:
        return bool(self._expected)

    def admits(self, value: bytes | None) -> bool:
        """Whether a request with this value of the header `authorization` may be answered; None: without the header."""
        return not self._expected or hmac.compare_digest(value or b"", self._expected)

    def check(self, value: bytes | None) -> None:
        """Raises RequestFailure for a request that may not be answered."""
        if not self.admits(value):
            why = "the token of this service is required (authorization: Bearer)"
            raise RequestFailure(FailureKind.UNAUTHENTICATED, why)
