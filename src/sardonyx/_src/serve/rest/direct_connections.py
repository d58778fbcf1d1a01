"""Connections that answer quick inference requests directly, and pass all others to the ASGI application."""

from __future__ import annotations

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sardonyx._src.serve.protocol.failures import RequestFailure
from sardonyx._src.serve.rest.connections import LimitedHttpProtocol
from sardonyx._src.serve.rest.direct_inference import DirectInference, DirectRequest
from sardonyx._src.serve.rest.responses import HttpResponse


class DirectHttpProtocol(LimitedHttpProtocol):
    """A connection that starts no task for a request that `DirectInference` accepts.

    direct: an accepted request, from the end of its headers to the end of its body.  Its body may arrive in parts, within the
        time limit of any other body.
    """

    direct: DirectRequest | None = None

    @property
    def inference(self) -> DirectInference:
        inference = self.config.direct
        assert inference is not None, "the configuration has direct inference"
        return inference

    def connection_lost(self, exc: Exception | None) -> None:
        self.release(self.direct)
        self.direct = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.direct is not None and not self.direct.is_held:
            self.await_body(self.direct)

    def on_headers_complete(self) -> None:
        if self.is_next() and (request := self.inference.accept(self.url, self.headers)) is not None:
            self.direct, self.phase, self.has_headers = request, "body", True
        else:
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if self.direct is None:
            super().on_body(body)
        else:
            self.count_body(body)
            self.direct.parts.append(body)

    def on_message_complete(self) -> None:
        request, self.direct = self.direct, None
        if request is None:
            super().on_message_complete()
            return
        self.framing = 0
        is_waiting = not request.is_held
        self.release(request)
        response = self.inference.answer(request)
        if response is None:
            self.hand_over(request)
            super().on_message_complete()
        else:
            self.respond(response, is_waiting=is_waiting)

    def shutdown(self) -> None:
        """Passes a request with an incomplete body to the application, whose requests complete during a shutdown."""
        if self.direct is not None:
            self.hand_over(self.direct)
        super().shutdown()

    def is_next(self) -> bool:
        """Whether a request is a POST of HTTP/1.1 on a connection that stays open, and all earlier requests are answered."""
        parser = self.parser
        return (
            (self.cycle is None or self.cycle.response_complete)
            and not self.flow.write_paused
            and parser.get_method() == b"POST"
            and parser.get_http_version() == "1.1"
            and parser.should_keep_alive()
            and not parser.should_upgrade()
        )

    def await_body(self, request: DirectRequest) -> None:
        """Waits for the rest of a body.  Its bytes count from now on; if they are too many, the application refuses it."""
        try:
            self.inference.held.add(request.length)
        except RequestFailure:
            self.hand_over(request)
        else:
            request.is_held = True
            self.begin("body")

    def hand_over(self, request: DirectRequest) -> None:
        """Passes a request to the application, with as much of its body as has arrived."""
        self.release(request)
        self.direct = None
        super().on_headers_complete()
        for part in request.parts:
            HttpToolsProtocol.on_body(self, part)  # not this class's method: the bytes have been counted

    def release(self, request: DirectRequest | None) -> None:
        """Ends the count of a request's bytes, if they are counted."""
        if request is not None and request.is_held:
            self.inference.held.remove(request.length)
            request.is_held = False

    def respond(self, response: HttpResponse, *, is_waiting: bool) -> None:
        """Sends a response.  is_waiting: whether the table still lists the connection among the waiting ones."""
        self.server_state.total_requests += 1
        self.inference.writer.write(self.transport, response, self.server_state.default_headers)
        if is_waiting:
            self.phase = "idle"
        else:
            self.begin("idle")
