"""How many requests does `sardonyx serve` answer, and how soon, compared with the same ASGI stack calling onnxruntime?

Both are processes of this machine, over loopback, in turn, with one load generator (`bench/serving_load.py`) of one thread: at
saturation (16 connections, each with its next request as soon as it has a response), and at a fixed rate of half of what the
slower of both reached.  The median of three turns; latencies are those of all requests of a turn.  Processor time is that of the
service for one request, which other programs of the machine disturb less than the rest.
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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

import sardonyx as sx
from measure import FOLDER, stamp

PAGE = FOLDER.parent / "docs" / "generated" / "serving.md"
CONNECTIONS = 16
TURNS = 3
SEED = 0


@dataclass(frozen=True)
class Case:
    """A model, one request to it, and seconds of each measurement."""

    name: str
    path: Path
    inputs: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]]
    is_small: bool  # the peer runs it on the event loop
    seconds: float = 3


@dataclass(frozen=True)
class Row:
    what: str
    server: str
    rate: float
    median: float
    p99: float
    processor: float  # microseconds of the service for a request


def cases(folder: Path) -> Iterator[Case]:
    rng = np.random.default_rng(SEED)
    yield Case(
        "MLP 784-256-256-10, JSON",
        mlp(folder / "mlp.onnx", rng),
        {"x": rng.random((1, 784), np.float32)},
        is_small=True,
    )
    yield Case(
        "MLP 16-64-64-3, JSON",
        mlp(folder / "small.onnx", rng, (16, 64, 64, 3)),
        {"x": rng.random((1, 16), np.float32)},
        is_small=True,
    )


def mlp(path: Path, rng: np.random.Generator, sizes: Sequence[int] = (784, 256, 256, 10)) -> Path:
    """A multilayer perceptron with random weights."""
    builder = sx.Builder(21)
    y = builder.input("x", "FLOAT", ["N", sizes[0]])
    for index, (before, after) in enumerate(pairwise(sizes)):
        weight = (rng.standard_normal((before, after)) / np.sqrt(before)).astype(np.float32)
        y = builder.Gemm(y, weight, np.zeros(after, np.float32))
        y = builder.Relu(y) if index + 2 < len(sizes) else builder.Softmax(y)
    builder.output(y, "y")
    sx.save(builder.model(), path)
    return path


def request_bytes(case: Case, model: str) -> bytes:
    """The HTTP request of a case."""
    names = {"float32": "FP32", "int64": "INT64"}
    inputs = [
        {"name": n, "datatype": names[str(a.dtype)], "shape": a.shape, "data": a.reshape(-1).tolist()}
        for n, a in case.inputs.items()
    ]
    body = json.dumps({"inputs": inputs}).encode()
    head = f"POST /v2/models/{model}/infer HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def commands(case: Case, port: int) -> dict[str, list[str]]:
    ours = [sys.executable, "-m", "sardonyx", "serve", str(case.path), "--port", str(port), "--log", "off"]
    peer = [sys.executable, str(FOLDER / "serving_peer.py"), str(case.path), str(port)]
    return {"sardonyx": ours, "onnxruntime": [*peer, "inline"] if case.is_small else peer}


@contextmanager
def running(command: Sequence[str], request: bytes, port: int) -> Iterator[int]:
    """The process of a service that has answered the request."""
    process = subprocess.Popen(command)
    try:
        for _ in range(300):
            if answers(request, port):
                break
            time.sleep(0.1)
        else:
            raise SystemExit(f"{command} does not answer")
        yield process.pid
    finally:
        process.terminate()
        process.wait()


def answers(request: bytes, port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as connection:
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


def measure_case(case: Case, folder: Path) -> list[Row]:
    request = request_bytes(case, case.path.stem)
    path = folder / "request"
    path.write_bytes(request)
    saturated: dict[str, list[dict[str, float]]] = {}
    fixed: dict[str, list[dict[str, float]]] = {}
    rate = 0.0
    for what, samples in (("saturation", saturated), ("fixed", fixed)):
        for _ in range(TURNS):
            port = free_port()
            for server, command in commands(case, port).items():
                with running(command, request, port) as process:
                    generate_load(path, port, 0.5)
                    before = processor_seconds(process)
                    sample = generate_load(path, port, case.seconds, rate)
                    used = processor_seconds(process) - before
                    sample["processor"] = used * 1e6 / sample["count"]
                    samples.setdefault(server, []).append(sample)
        if what == "saturation":
            rate = min(median_of(s, "rate") for s in saturated.values()) / 2
    rows = [row_of(f"{case.name}, saturation", server, s) for server, s in saturated.items()]
    rows += [row_of(f"{case.name}, {rate:.0f} requests/s", server, s) for server, s in fixed.items()]
    for row in rows:
        print(row, flush=True)
    return rows


def median_of(samples: Sequence[dict[str, float]], key: str) -> float:
    return statistics.median(sample[key] for sample in samples)


def row_of(what: str, server: str, samples: Sequence[dict[str, float]]) -> Row:
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
    args = parser.parse_args()
    globals()["TURNS"] = args.turns
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            row for c in cases(Path(folder)) if args.only in c.name for row in measure_case(c, Path(folder))
        ]
    if args.only:
        print(page(rows))
    else:
        PAGE.write_text(page(rows))


if __name__ == "__main__":
    main()
