"""How many requests does `sardonyx serve` answer, and how soon, compared with the same ASGI stack calling onnxruntime?

All services are processes of this machine, over loopback, in turn, with one load generator (`bench/serving_load.py`) of one thread: at
saturation (16 connections, each with its next request as soon as it has a response), and at a fixed rate of half of what the
slower of Sardonyx and the stack reached.  The median of three turns; latencies are those of all requests of a turn.  Processor time is
that of the service for one request, which other programs of the machine disturb less than the rest.

The stack (`bench/serving_peer.py`) is uvicorn, uvloop, httptools, Starlette, orjson and onnxruntime, in the versions that Sardonyx has.
Of these, Sardonyx uses all but onnxruntime; requests of models that run in less than half a millisecond bypass Starlette and ASGI.
MLServer has no runtime for ONNX of its own: `bench/serving_mlserver.py` calls onnxruntime, in one process.  Its requests are
JSON in every row, since it lacks the binary tensor extension over HTTP; it has one turn, at saturation.

Needs an environment with `sardonyx[serve]` and onnxruntime, and for `--mlserver` the interpreter of another one, with mlserver and onnxruntime.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from measure import FOLDER, stamp
from serving_cases import Case, cases
from serving_load import write_requests

PAGE = FOLDER.parent / "docs" / "generated" / "serving.md"
CONNECTIONS = 16
TURNS = 3
WARM_UP_SECONDS = 1.0
SETTLE_SECONDS = 0.5  # after the start of a service
OURS, STACK, MLSERVER = "sardonyx", "onnxruntime", "MLServer, onnxruntime"
Sample = Mapping[str, float]


@dataclass(frozen=True)
class Row:
    what: str
    server: str
    rate: float
    median: float
    p99: float
    processor: float  # microseconds of the service for a request


@dataclass(frozen=True)
class Server:
    """A service: what starts it on a port, and the requests that it gets.  environment: variables besides those of this process."""

    command: Sequence[str]
    case: Case
    port: int
    environment: Mapping[str, str]


def servers(case: Case, folder: Path, mlserver: str) -> dict[str, Server]:
    """The services for a case.  folder: for their files.  mlserver: the interpreter of MLServer; "": without it."""
    port, path = free_port(), str(case.path)
    ours = [sys.executable, "-m", "sardonyx", "serve", path, "--port", str(port), "--log", "off"]
    stack = [sys.executable, str(FOLDER / "serving_peer.py"), path, str(port)]
    chosen = {
        OURS: Server(ours, case, port, {}),
        STACK: Server([*stack, "inline"] if case.is_small else stack, case, port, {}),
    }
    return chosen | {MLSERVER: mlserver_of(case, folder, mlserver)} if mlserver else chosen


def mlserver_of(case: Case, folder: Path, python: str) -> Server:
    """MLServer in its own environment, without what the others do not do either: compression, a process more, a log."""
    folder = folder / "mlserver" / case.model
    folder.mkdir(parents=True, exist_ok=True)
    parameters = {"uri": str(case.path), "extra": {"is_small": case.is_small}}
    settings = {
        "name": case.model,
        "implementation": "serving_mlserver.OnnxRuntime",
        "parameters": parameters,
    }
    (folder / "model-settings.json").write_text(json.dumps(settings))
    ports = {f"MLSERVER_{name}_PORT": str(free_port()) for name in ("HTTP", "GRPC", "METRICS")}
    environment = {
        **ports,
        "PYTHONPATH": str(FOLDER),
        "MLSERVER_HOST": "127.0.0.1",
        "MLSERVER_PARALLEL_WORKERS": "0",
        "MLSERVER_GZIP_ENABLED": "false",
        "MLSERVER_DEBUG": "false",
        "MLSERVER_ENVIRONMENTS_DIR": str(folder),
        "MLSERVER_METRICS_DIR": str(folder),
    }
    command = [python, "-c", "from mlserver.cli import main; main()", "start", str(folder)]
    return Server(command, replace(case, is_binary=False), int(ports["MLSERVER_HTTP_PORT"]), environment)


@contextmanager
def running(server: Server) -> Iterator[int]:
    """The process of a service that has answered a request."""
    request = server.case.request(server.case.requests[0])
    process = subprocess.Popen(server.command, env=os.environ | server.environment, stdout=subprocess.DEVNULL)
    try:
        for _ in range(600):
            if answers(request, server.port):
                break
            time.sleep(0.1)
        else:
            raise SystemExit(f"{server.command} does not answer")
        time.sleep(SETTLE_SECONDS)
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def answers(request: bytes, port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 10) as connection:
            connection.sendall(request)
            return connection.recv(12) == b"HTTP/1.1 200"
    except OSError:
        return False


def processor_seconds(process: int) -> float:
    """The processor time of a process so far, by Linux."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port: int = s.getsockname()[1]
        return port


def generate_load(path: Path, port: int, seconds: float, rate: float = 0) -> dict[str, float]:
    command = [sys.executable, str(FOLDER / "serving_load.py"), str(path), "--port", str(port)]
    options = ["--connections", str(CONNECTIONS), "--seconds", str(seconds), "--rate", str(rate)]
    done = subprocess.run([*command, *options], check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout)
    if result["failures"]:
        raise SystemExit(f"{result['failures']:.0f} requests failed")
    return result


def measure_server(server: Server, folder: Path, rate: float) -> Sample:
    """A sample of one turn.  rate: requests per second that are offered; 0: saturation."""
    path = folder / "requests"
    write_requests(path, server.case.request_bytes())
    with running(server) as process:
        generate_load(path, server.port, WARM_UP_SECONDS)
        before = processor_seconds(process)
        sample = generate_load(path, server.port, server.case.seconds, rate)
        used = processor_seconds(process) - before
    return sample | {"processor": used * 1e6 / sample["count"]}


def measure_case(case: Case, folder: Path, turns: int, mlserver: str) -> list[Row]:
    rows, rate = [], 0.0
    for is_fixed in (False, True):
        samples: dict[str, list[Sample]] = {}
        for turn in range(turns):
            for name, server in servers(case, folder, "" if is_fixed or turn else mlserver).items():
                samples.setdefault(name, []).append(measure_server(server, folder, rate))
        what = f"{case.name}, {f'{rate:.0f} requests/s' if is_fixed else 'saturation'}"
        rows += [row_of(what, name, values) for name, values in samples.items()]
        rate = min(median_of(samples[name], "rate") for name in (OURS, STACK)) / 2
    for row in rows:
        print(row, flush=True)
    return rows


def median_of(samples: Sequence[Sample], key: str) -> float:
    return statistics.median(sample[key] for sample in samples)


def row_of(what: str, server: str, samples: Sequence[Sample]) -> Row:
    return Row(what, server, *(median_of(samples, key) for key in ("rate", "median", "p99", "processor")))


def page(rows: Sequence[Row]) -> str:
    lines = [
        "# Serving",
        "",
        (__doc__ or "").strip(),
        "",
        f"Written by `python bench/serving.py`. {stamp()}",
        "",
        "| load | server | requests/s | median ms | p99 ms | processor µs |",
        "|---|---|---:|---:|---:|---:|",
        *(
            f"| {r.what} | {r.server} | {r.rate:.0f} | {r.median:.2f} | {r.p99:.2f} | {r.processor:.0f} |"
            for r in rows
        ),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="measure the cases whose names contain this, and print")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--mlserver", default="", help="the Python interpreter of MLServer's environment")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            row
            for case in cases(Path(folder))
            if args.only in case.name
            for row in measure_case(case, Path(folder), args.turns, args.mlserver)
        ]
    if args.only:
        print(page(rows))
    else:
        PAGE.write_text(page(rows))


if __name__ == "__main__":
    main()
