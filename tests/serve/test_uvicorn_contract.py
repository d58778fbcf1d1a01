"""What the connections of HTTP use of uvicorn besides its public interface, so that another release that changes it fails here."""

from __future__ import annotations

import asyncio
import inspect

import pytest
import uvicorn
from uvicorn.protocols.http import httptools_impl
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.server import ServerState

from sardonyx._src.serve.rest.connections import LimitedHttpProtocol
from sardonyx._src.serve.rest.direct_connections import DirectHttpProtocol

# The methods that ours override or call, with their parameters.
METHODS = {
    "connection_made": ["self", "transport"],
    "connection_lost": ["self", "exc"],
    "data_received": ["self", "data"],
    "on_message_begin": ["self"],
    "on_header": ["self", "name", "value"],
    "on_headers_complete": ["self"],
    "on_body": ["self", "body"],
    "on_message_complete": ["self"],
    "on_response_complete": ["self"],
    "pause_writing": ["self"],
    "resume_writing": ["self"],
    "shutdown": ["self"],
    "_start_asgi_task": ["self", "cycle", "app"],
}
CONNECTION = (
    "config",
    "loop",
    "parser",
    "flow",
    "server_state",
    "transport",
    "headers",
    "url",
    "cycle",
    "pipeline",
)
CYCLE = ("disconnected", "message_event", "response_started", "response_complete", "more_body")


@pytest.mark.parametrize("name", METHODS)
def test_methods_of_connections(name: str) -> None:
    method = getattr(httptools_impl.HttpToolsProtocol, name)
    assert list(inspect.signature(method).parameters) == METHODS[name]


@pytest.mark.parametrize("ours", [LimitedHttpProtocol, DirectHttpProtocol])
def test_every_overridden_method_is_listed(ours: type) -> None:
    theirs = httptools_impl.HttpToolsProtocol
    overridden = {name for name in vars(ours) if callable(vars(ours)[name]) and hasattr(theirs, name)}
    assert overridden <= {*METHODS, "__doc__"}


def test_attributes_of_connections_and_requests() -> None:
    async def run() -> None:
        config = uvicorn.Config(lambda *args: None, http=httptools_impl.HttpToolsProtocol)
        config.load()
        connection = httptools_impl.HttpToolsProtocol(config, ServerState(), {}, asyncio.get_running_loop())
        attributes = {*vars(connection), *vars(type(connection))}
        assert {*CONNECTION} - {"headers", "url"} <= attributes
        assert not connection.pipeline
        source = inspect.getsource(httptools_impl.HttpToolsProtocol.on_message_begin)
        assert "self.url = b" in source and "self.headers = []" in source

    asyncio.run(run())
    cycle = inspect.getsource(httptools_impl.RequestResponseCycle.__init__)
    assert [name for name in CYCLE if f"self.{name} " not in cycle and f"self.{name}:" not in cycle] == []


def test_state_of_the_server_and_of_flow_control() -> None:
    state = ServerState()
    assert (state.total_requests, state.default_headers) == (0, [])
    assert "self.write_paused = False" in inspect.getsource(FlowControl.__init__)


def test_status_lines_end_with_the_head_begun() -> None:
    assert httptools_impl.STATUS_LINE[200] == b"HTTP/1.1 200 OK\r\n"
    assert httptools_impl.STATUS_LINE[431].startswith(b"HTTP/1.1 431 ")


def test_methods_of_servers() -> None:
    for name, parameters in {
        "handle_exit": ["self", "sig", "frame"],
        "shutdown": ["self", "sockets"],
    }.items():
        assert list(inspect.signature(getattr(uvicorn.Server, name)).parameters) == parameters
    state = vars(uvicorn.Server(uvicorn.Config(lambda *args: None)))
    assert state.keys() >= {"should_exit", "force_exit"}
