"""Serve models over HTTP and gRPC, by the Open Inference Protocol v2, which clients of KServe, Triton and MLServer speak, and
language models by OpenAI's interface.

sardonyx serve models/ --port 8000
sardonyx serve model.onnx
sardonyx serve llama/
sardonyx serve models/ --watch 5 --log json
sardonyx serve models/ --grpc-port 8001 --workers 2 --batch-delay 0.002
sardonyx serve models/ --processes 4
sardonyx serve models/ --host 0.0.0.0 --token-file token --certificate cert.pem --key key.pem
sardonyx serve --config serve.toml

The folder has NAME.onnx, NAME/model.onnx or NAME/VERSION/model.onnx for each model; .sdx files, which `sardonyx compile` writes,
may replace .onnx files.  With --name, the folder is that of a single model.  A folder that onnxruntime-genai, Optimum or
Transformers wrote, in FOLDER or as FOLDER, is a language model, which answers /v1/chat/completions, /v1/completions or
/v1/embeddings.

The service listens on this machine only, unless --host names another address.  It is ready (/v2/health/ready) when every model has
run once.  SIGTERM or Ctrl-C lets the requests in progress complete.
"""

from __future__ import annotations

import argparse
from dataclasses import fields
from pathlib import Path
from typing import Any

from sardonyx._src.cli.inputs.limits import add_limits, parse_count, parse_seconds, parse_size
from sardonyx._src.compile.llvm.kernel_origin import STARTS
from sardonyx._src.errors import InputError, MissingPackage
from sardonyx._src.ops.api import RunLimits
from sardonyx._src.runtime.session.session_origin import ENGINES

HELP = "serve models over HTTP and gRPC (Open Inference Protocol v2, OpenAI's interface)"
SETTINGS = (
    "repository",
    "name",
    "host",
    "port",
    "grpc_port",
    "processes",
    "traces",
    "token_file",
    "certificate",
    "key",
    "log",
    "drain_seconds",
    "grace_seconds",
    "watch_seconds",
)
SERVICE_LIMITS = ("body", "json", "connections")
SCHEDULING = ("workers", "max_queue", "max_batch", "batch_delay")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "repository",
        nargs="?",
        metavar="FOLDER",
        help="a folder of models or of a language model, or a model file",
    )
    parser.add_argument(
        "--config", metavar="FILE", help="read settings from a TOML file; options override it"
    )
    parser.add_argument("--name", help="serve a single model, in FOLDER, under this name")
    parser.add_argument("--host", metavar="ADDRESS", help="address to listen on (127.0.0.1)")
    parser.add_argument(
        "--port", type=parse_count, metavar="N", help="port for HTTP; 0: any free port (8000)"
    )
    parser.add_argument(
        "--grpc-port",
        type=parse_count,
        metavar="N",
        help="also serve gRPC on this port; 0: any free port (default: no gRPC)",
    )
    parser.add_argument(
        "--processes",
        type=parse_count,
        metavar="N",
        help="processes that accept requests and share the weights in memory (1)",
    )
    add_security(parser)
    add_operation(parser)
    add_models(parser)
    add_limits(parser)


def add_security(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("security")
    group.add_argument("--token-file", metavar="FILE", help="require the first line of FILE as bearer token")
    group.add_argument("--certificate", metavar="FILE", help="serve TLS with this certificate chain (PEM)")
    group.add_argument("--key", metavar="FILE", help="the private key of the certificate (PEM)")
    group.add_argument(
        "--control",
        choices=("on", "off"),
        help="whether clients may load and unload models (on, if only this machine or holders of the token can)",
    )
    group.add_argument(
        "--max-body", dest="body", type=parse_size, metavar="SIZE", help="largest body of a request (64M)"
    )
    group.add_argument(
        "--max-json", dest="json", type=parse_size, metavar="SIZE", help="largest JSON in a request (16M)"
    )
    group.add_argument(
        "--max-connections",
        dest="connections",
        type=parse_count,
        metavar="N",
        help="connections at one time; a new one beyond them closes the one that has been idle longest (10000)",
    )


def add_operation(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("operation")
    group.add_argument("--log", choices=("text", "json", "off"), help="form of the log on stderr (text)")
    group.add_argument("--access-log", action="store_true", help="log every request")
    group.add_argument("--no-metrics", action="store_true", help="do not answer GET /metrics (Prometheus)")
    group.add_argument(
        "--traces", metavar="URL", help="send OpenTelemetry traces to this collector by OTLP over HTTP (none)"
    )
    group.add_argument(
        "--watch",
        dest="watch_seconds",
        type=parse_seconds,
        metavar="S",
        help="look for changed models every S seconds (default: models only change by request)",
    )
    group.add_argument(
        "--drain",
        dest="drain_seconds",
        type=parse_seconds,
        metavar="S",
        help="after SIGTERM, report not ready but accept requests for S seconds (0)",
    )
    group.add_argument(
        "--grace",
        dest="grace_seconds",
        type=parse_seconds,
        metavar="S",
        help="then wait up to S seconds for requests in progress (30)",
    )


def add_models(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("models", "for models whose config.json does not say otherwise")
    group.add_argument("--engine", choices=ENGINES, help="the engine to use (auto)")
    group.add_argument("--threads", type=int, metavar="N", help="threads of the native engine (all cores)")
    group.add_argument(
        "--start",
        choices=STARTS,
        help="whether a model begins with kernels of the library, or is ready when LLVM has compiled all (library)",
    )
    group.add_argument("--workers", type=parse_count, metavar="N", help="runs of a model at one time (1)")
    group.add_argument(
        "--max-queue",
        type=parse_count,
        metavar="N",
        help="waiting requests of a model; more are refused (256)",
    )
    group.add_argument(
        "--max-batch",
        type=parse_count,
        metavar="N",
        help="rows of waiting requests that run together (32); 1: none",
    )
    group.add_argument(
        "--batch-delay",
        type=parse_seconds,
        metavar="S",
        help="seconds that a request waits for other requests to run together with (0)",
    )


def run(args: argparse.Namespace) -> int:
    try:
        from sardonyx._src.serve.service.run import run_service
    except ImportError as error:
        why = f"`sardonyx serve` needs {error.name}: pip install 'sardonyx[serve]'"
        raise MissingPackage(why, package="sardonyx[serve]") from None
    from sardonyx._src.serve.settings.configuration import parse_settings
    from sardonyx._src.serve.settings.logs import configure_logs

    settings = parse_settings(read_settings(args))
    configure_logs(settings.log)
    run_service(settings)
    return 0


def read_settings(args: argparse.Namespace) -> dict[str, Any]:
    """The settings of the configuration file, and the options, which override them."""
    from sardonyx._src.serve.models.model_config import ModelConfig, parse_config
    from sardonyx._src.serve.settings.configuration import read_configuration

    values: dict[str, Any] = read_configuration(Path(args.config)) if args.config else {}
    values |= {name: value for name in SETTINGS if (value := getattr(args, name)) is not None}
    if args.control is not None:
        values["control"] = args.control == "on"
    if args.access_log:
        values["access_log"] = True
    if args.no_metrics:
        values["metrics"] = False
    limits = {name: value for name in SERVICE_LIMITS if (value := getattr(args, name)) is not None}
    if limits:
        values["limits"] = {**table(values, "limits"), **limits}
    options = {
        name: value for name in ("engine", "threads", "start") if (value := getattr(args, name)) is not None
    }
    models = {**table(values, "models"), **options}
    scheduling = {name: value for name in SCHEDULING if (value := getattr(args, name)) is not None}
    if scheduling:
        models["scheduling"] = {**table(models, "scheduling"), **scheduling}
    run_limits = {
        f.name: limit for f in fields(RunLimits) if (limit := getattr(args, f"limit_{f.name}")) is not None
    }
    if run_limits:
        models["limits"] = {**table(models, "limits"), **run_limits}
    values["models"] = parse_config(models, ModelConfig())
    return values


def table(values: dict[str, Any], name: str) -> dict[str, Any]:
    """A table of the configuration file; InputError for anything else under its name."""
    value = values.get(name, {})
    if not isinstance(value, dict):
        raise InputError(f"{name} must be a table; got {type(value).__name__}", name=name)
    return value
