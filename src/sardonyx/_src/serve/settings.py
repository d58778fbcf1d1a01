"""Settings of a service: what the options of `sardonyx serve` and the keys of its configuration file set."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from sardonyx._src.errors import InputError
from sardonyx._src.serve.logs import LogForm
from sardonyx._src.serve.model_config import ModelConfig


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """What clients may use.  Sizes are in bytes, times in seconds.

    body: of one request.  json: the part of a request that is JSON.
    decoded: of the tensors of one request that are not views of its body: those of JSON, strings, numbers of gRPC in fields.
    response: of one request, in JSON and binary data.
    held: of the bodies, decoded tensors and responses of all requests that are in progress.
    streams: of gRPC at one time, each of which may be receiving a message.
    connections: at one time; the one that has been idle for longest is closed for a new one.
    header_seconds: from the connection, or the first byte of a request, to the end of its headers.
    header: of the request line, the headers, sizes of chunks and trailers.  body_seconds: from there to the end of the body.
    idle_seconds: between requests of a connection.  write_seconds: that a response may wait for its client to read.
    """

    body: int = 64 << 20
    json: int = 16 << 20
    decoded: int = 64 << 20
    response: int = 256 << 20
    held: int = 1 << 30
    streams: int = 64
    connections: int = 10_000
    header: int = 64 << 10
    header_seconds: float = 10.0
    body_seconds: float = 60.0
    idle_seconds: float = 60.0
    write_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """The settings of a service.

    repository: the folder of models.  name: if it is the folder of one model, the name of that.
    grpc_port: of the gRPC transport; None: there is none.
    processes: that accept requests; each has an event loop, queues and threads of its own, and all map one copy of the weights.
    metrics: whether GET /metrics is answered.  traces: the address of a collector of OpenTelemetry (OTLP over HTTP); "": no traces.
    token_file: its first line is required as bearer token.  certificate, key: PEM files, for TLS.
    drain_seconds: how long a service that ends still accepts requests, so that load balancers notice that it is not ready.
    grace_seconds: how long it then waits for requests in progress.
    watch_seconds: between scans of the folder for changes; None: models change by request only.
    control: whether clients may load and unload models; None: where only this machine or holders of the token can ask.
    """

    repository: Path
    name: str = ""
    host: str = "127.0.0.1"
    port: int = 8000
    grpc_port: int | None = None
    processes: int = 1
    metrics: bool = True
    traces: str = ""
    token_file: Path | None = None
    certificate: Path | None = None
    key: Path | None = None
    log: LogForm = "text"
    access_log: bool = False
    drain_seconds: float = 0.0
    grace_seconds: float = 30.0
    watch_seconds: float | None = None
    control: bool | None = None
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    models: ModelConfig = field(default_factory=ModelConfig)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can connect."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def allows_control(self) -> bool:
        """Whether clients may load and unload models."""
        return (self.is_local or self.token_file is not None) if self.control is None else self.control


def read_token(path: Path) -> str:
    """The token in a file; InputError for a file without one."""
    token = path.read_text("utf-8").partition("\n")[0].strip()
    if not token or not token.isascii() or not token.isprintable():
        raise InputError(f"{path} must begin with a line of printable ASCII, the token", name="token_file")
    return token
