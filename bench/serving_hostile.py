"""How long does a service of this machine answer nothing, and how much memory does it take, while clients send the worst that it accepts?

Each load has three clients, which send again as soon as they have an answer, for some seconds.  Meanwhile another client asks for
/v2/health/live.  *Slowest answer* is the longest that it waits; *longest block* the longest time in which the event loop of the service
begins nothing, as a task in it measures that wakes every millisecond.  Processes that share the processors are in both, and the first
row, without load, tells how much; *without waiting* leaves out the time in which the thread of the event loop could run and had no
processor, as the system counts it.  *Work* is the most that this thread runs between two wakes of the task, so that no callback takes longer.
*Memory* is the most that is resident of the process, and with it of the one of gRPC.

Clients and service share two processors, so that a load itself makes the rest wait; the service has its defaults.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import uvloop

import sardonyx as sx
from measure import FOLDER, commit, machine
from sardonyx._src.serve.service.service import Service
from sardonyx._src.serve.settings.configuration import parse_settings

PAGE = FOLDER.parent / "docs" / "generated" / "serving_hostile.md"
CLIENTS = 3
MEGABYTE = 1 << 20
LONG = 60 * MEGABYTE  # of a body; the limit is 64 MiB
JSON = 15 * MEGABYTE  # of one of JSON; the limit is 16 MiB
Load = Callable[[int, float], str]


@dataclass
class Measured:
    """What one load did: the worst of all times in seconds, memory in MiB, and the answers."""

    slowest: float = 0.0
    block: float = 0.0
    stopped: float = 0.0
    work: float = 0.0
    memory: float = 0.0
    answers: Counter[str] = field(default_factory=Counter)


def serve(folder: str) -> None:
    """Serves a folder; writes the longest block of the loop to standard output whenever a line comes from standard input."""

    async def run() -> None:
        service = Service(parse_settings({"repository": Path(folder), "port": 0, "grpc_port": 0}))
        running = asyncio.create_task(service.run())
        while not (service.repository.is_ready and len(service.ports) == 2):
            await asyncio.sleep(0.01)
        worst = [0.0] * 3
        print(json.dumps(service.ports), flush=True)
        threading.Thread(target=report, args=(worst,), daemon=True).start()
        while not running.done():
            begin, waited, worked = time.perf_counter(), processor_wait(), time.thread_time()
            await asyncio.sleep(0.001)
            block = time.perf_counter() - begin - 0.001
            stopped, work = block - (processor_wait() - waited), time.thread_time() - worked
            worst[:] = map(max, worst, (block, stopped, work))

    uvloop.run(run())


def processor_wait() -> float:
    """The seconds in which this thread could run and had no processor."""
    fields = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat").read_text().split()
    return int(fields[1]) / 1e9


def report(worst: list[float]) -> None:
    for _ in sys.stdin:
        print(json.dumps(worst), flush=True)
        worst[:] = [0.0] * len(worst)


def request(head: str, body: bytes = b"", headers: str = "") -> bytes:
    return (
        f"POST /v2/models/{head}/infer HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode()
        + body
    )


def tensor(name: str, datatype: str, shape: list[int], data: bytes) -> bytes:
    fields = json.dumps({"name": name, "datatype": datatype, "shape": shape})[:-1].encode()
    return b'{"inputs": [' + fields + b', "data": [' + data.removesuffix(b",") + b"]}]}"


def over_http(message: bytes) -> Load:
    """Sends a request, and reads its response."""

    def send(port: int, seconds: float) -> str:
        with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
            with contextlib.suppress(OSError):  # refused before it has been sent
                connection.sendall(message)
            response = http.client.HTTPResponse(connection)
            response.begin()
            while response.read(MEGABYTE):
                pass
            return str(response.status)

    return send


def trailers(port: int, seconds: float) -> str:
    """Sends trailers without end."""
    end = time.perf_counter() + seconds
    head = b"POST /v2/models/a/infer HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n0\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(head)
        while time.perf_counter() < end:
            connection.sendall(b"a:b\r\n" * 10_000)
    return "accepted"


def over_grpc(message: bytes, compression: int = 0) -> Load:
    """Sends a message over gRPC; its response is not decoded."""
    import grpc

    def send(port: int, seconds: float) -> str:
        options = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
        with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
            call = channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
            try:
                call(message, timeout=60, compression=grpc.Compression(compression))
            except grpc.RpcError as error:
                return str(error.code().name)
        return "OK"

    return send


def loads() -> dict[str, tuple[str, Load]]:
    """Loads by title: the transport, and what each client does."""
    size = tensor("n", "INT64", [1], b"%d")
    strings = LONG // 4
    text = json.dumps(
        {
            "inputs": [
                {
                    "name": "s",
                    "datatype": "BYTES",
                    "shape": [strings],
                    "parameters": {"binary_data_size": LONG},
                }
            ]
        }
    ).encode()
    with_binary = f"Inference-Header-Content-Length: {len(text)}\r\n"
    return {
        "60 MB of JSON": ("http", over_http(request("a", b"[" + b"1," * (LONG // 2)))),
        "15 MB of JSON, numbers": ("http", over_http(request("a", tensor("x", "FP32", [JSON // 4, 2], b"1," * (JSON // 2))))),
        "15 MB of JSON, nested": ("http", over_http(request("a", tensor("x", "FP32", [JSON // 6, 2], b"[1,1]," * (JSON // 6))))),
        "15 MB of JSON, strings": ("http", over_http(request("s", tensor("s", "BYTES", [JSON // 12], b'"12345678",' * (JSON // 12))))),
        "15 MB of JSON, brackets": ("http", over_http(request("a", b"[" * JSON))),
        "60 MB of empty strings": ("http", over_http(request("s", text + bytes(LONG), with_binary))),
        "trailers without end": ("http", trailers),
        "results of 40 MB of JSON": ("http", over_http(request("fill", size % 10_000_000))),
        "results of 800 MB of JSON": ("http", over_http(request("fill", size % 200_000_000))),
        "gRPC: 60 MB": ("grpc", over_grpc(b"\x3a\x80\x80\x80\x1e" + bytes(LONG))),
        "gRPC: 60 MB, compressed": ("grpc", over_grpc(b"\x3a\x80\x80\x80\x1e" + bytes(LONG), 2)),
        "gRPC: 10 million fields": ("grpc", over_grpc(b"\x3a\x00" * 10_000_000)),
    }  # fmt: skip


@contextlib.contextmanager
def running() -> Iterator[tuple[subprocess.Popen[str], dict[str, int]]]:
    """A service of small models in a process of its own, and its ports."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {
            "a": "g (float[N,2] x) => (float[N,2] y) { y = Relu(x) }",
            "s": "g (string[N] s) => (int64[1] y) { y = Shape(s) }",
            "fill": "g (int64[1] n) => (float[M] y) { y = ConstantOfShape(n) }",
        }.items():
            header = '<ir_version: 10, opset_import: ["": 21]>\n'
            sx.save(sx.from_text(header + text), f"{folder}/{name}.onnx")
        warm_up = {"warm_up": [{"inputs": [{"name": "n", "datatype": "INT64", "shape": [1], "data": [1]}]}]}
        Path(folder, "fill").mkdir()
        Path(folder, "fill.onnx").rename(Path(folder, "fill", "model.onnx"))
        Path(folder, "fill", "config.json").write_text(json.dumps(warm_up))
        command = [sys.executable, __file__, "--serve", folder]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
            assert process.stdout is not None
            try:
                yield process, json.loads(process.stdout.readline())
            finally:
                process.send_signal(signal.SIGKILL)


def probe(port: int, is_over: threading.Event, result: Measured) -> None:
    """Asks whether the service is alive, twenty times a second."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    while not is_over.wait(0.05):
        begin = time.perf_counter()
        connection.request("GET", "/v2/health/live")
        connection.getresponse().read()
        result.slowest = max(result.slowest, time.perf_counter() - begin)


def repeat(load: Load, port: int, end: float, answers: Counter[str]) -> None:
    while (left := end - time.perf_counter()) > 0:
        try:
            answers[load(port, left)] += 1
        except (OSError, http.client.HTTPException) as error:
            answers["closed" if isinstance(error, ConnectionError) else type(error).__name__] += 1


def measure(load: tuple[str, Load] | None, seconds: float) -> Measured:
    """Runs a load against a new service; None: none."""
    result = Measured()
    with running() as (process, ports):
        assert process.stdin is not None
        assert process.stdout is not None
        is_over = threading.Event()
        prober = threading.Thread(target=probe, args=(ports["http"], is_over, result))
        prober.start()
        time.sleep(0.2)
        print(file=process.stdin, flush=True)
        process.stdout.readline()  # of what the service did until it was ready
        result.slowest = 0.0
        end = time.perf_counter() + seconds
        clients = []
        if load is not None:
            arguments = (load[1], ports[load[0]], end, result.answers)
            clients = [threading.Thread(target=repeat, args=arguments) for _ in range(CLIENTS)]
        for client in clients:
            client.start()
        time.sleep(seconds)
        for client in clients:
            client.join()
        is_over.set()
        prober.join()
        print(file=process.stdin, flush=True)
        result.block, result.stopped, result.work = json.loads(process.stdout.readline())
        result.memory = sum(map(most_memory, (process.pid, *children(process.pid))))
    return result


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def most_memory(pid: int) -> float:
    """The most of a process that was resident, in MiB."""
    return int(re.findall(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0]) / 1024


def line(title: str, result: Measured) -> str:
    answers = ", ".join(f"{count} {name}" for name, count in sorted(result.answers.items()))
    seconds = (result.slowest, result.block, result.stopped, result.work)
    times = " | ".join(f"{1000 * value:.0f}" for value in seconds)
    return f"| {title} | {times} | {result.memory:.0f} | {answers} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("--seconds", type=float, default=8.0, help="of each load")
    parser.add_argument("--loads", help="only loads whose titles have this text; the page is not written")
    args = parser.parse_args()
    if args.serve:
        serve(args.serve)
        return
    chosen = {title: load for title, load in loads().items() if not args.loads or args.loads in title}
    rows = []
    for title, load in {"none": None, **chosen}.items():
        rows.append(line(title, measure(load, args.seconds)))
        print(rows[-1], flush=True)
    if not args.loads:
        head = ["# A service under hostile load", "", (__doc__ or "").strip(), ""]
        head += ["Written by `python bench/serving_hostile.py`.", ""]
        head += [
            "| load of three clients | slowest answer, ms | longest block, ms | without waiting, ms | work, ms | memory, MiB | answers |"
        ]
        tail = ["", f"Measured at {commit()}: {machine()}"]
        PAGE.write_text("\n".join([*head, "|---|---:|---:|---:|---:|---:|---|", *rows, *tail]) + "\n")


if __name__ == "__main__":
    main()
