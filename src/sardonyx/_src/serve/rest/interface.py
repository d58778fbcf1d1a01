"""Interfaces beside the inference protocol, on the same port."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from starlette.routing import Route

from sardonyx._src.serve.models.repository import ModelRepository
from sardonyx._src.serve.protocol.codec_threads import CodecThreads
from sardonyx._src.serve.protocol.failures import RequestFailure
from sardonyx._src.serve.protocol.held_bytes import HeldBytes
from sardonyx._src.serve.protocol.service_limits import ServiceLimits


class Interface(Protocol):
    """Paths that begin with `prefix`, and the form of their errors."""

    prefix: str

    def routes(
        self, repository: ModelRepository, limits: ServiceLimits, held: HeldBytes, threads: CodecThreads
    ) -> Sequence[Route]:
        """The routes.  held: counts the bytes of requests.  threads: decode long requests."""

    def error(self, text: str, status: int, failure: RequestFailure | None) -> object:
        """The JSON of an error; failure: None for an error that is not one of a request, as a wrong method."""
