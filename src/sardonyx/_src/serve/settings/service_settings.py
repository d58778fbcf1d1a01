"""Settings of a service, which the options of `sardonyx serve` and the keys of its configuration file set."""

from __future__ import annotations

import ipaddress
from dataclasses import field
from pathlib import Path

from sardonyx._src.dataclass import dataclass
from sardonyx._src.errors import InputError
from sardonyx._src.serve.models.model_config import ModelConfig
from sardonyx._src.serve.protocol.service_limits import ServiceLimits
from sardonyx._src.serve.settings.logs import LogForm


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """The settings of a service.

    repository: the folder of models, the folder of one model, or a model file.
    name: the name of the model, if `repository` is the folder or file of one model.
    host, port: the address on which the service accepts HTTP.
    grpc_port: the port of gRPC; None: there is no gRPC.
    processes: the number of processes that accept requests.  Each has an event loop, queues and threads of its own, and all
        map one copy of the weights.
    metrics: whether GET /metrics is answered.
    traces: the address of an OpenTelemetry collector (OTLP over HTTP); "": no traces.
    token_file: a file whose first line is the bearer token that requests must have.
    certificate, key: PEM files, for TLS.
    log: the form of the logs.
    access_log: whether each request is logged.
    drain_seconds: the time during which a service that ends still accepts requests, so that load balancers notice that it is
        not ready.
    grace_seconds: the time that it then waits for requests in progress.
    watch_seconds: the interval between scans of the folder for changes; None: models change only by request.
    control: whether clients may load and unload models; None: only if `host` is this machine or a token is required.
    limits: limits on what clients may use.
    models: the configuration of a model, as far as its config.json states none.
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
