"""Soak and chaos of a service on this machine: many requests, clients that vanish, models that are replaced under load.

python bench/serving_soak.py --requests 100000 --kills 200

Every answer is compared with the one that the model of its time gives: y = factor * x, with a factor that was published between the
beginning and the end of the request.  A client that vanishes resets its connection while its request is sent, waits or runs, as the
system does for a process that is killed.  The memory of the service is read when a tenth of the requests are done, and at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import random
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import sardonyx as sx

# The slow model spends a millisecond in a loop, so that its requests wait, are joined to batches, and are cancelled.
QUICK = """<ir_version: 10, opset_import: ["": 21]> g (float[N,4] x) => (float[N,4] y) <float w = {{{factor}}}> {{ y = Mul(x, w) }}"""
SLOW = """<ir_version: 10, opset_import: ["": 21]> g (float[N,4] x) => (float[N,4] y)
    <int64 n = {{2000}}, bool go = {{1}}, float one = {{1}}, float w = {{{factor}}}> {{
    last = Loop(n, go, x) <body = b (int64 i, bool c, float[N,4] v) => (bool d, float[N,4] u) {{ d = Identity(c) u = Mul(v, one) }}>
    y = Mul(last, w) }}"""
MODELS = {"quick": QUICK, "slow": SLOW}
CONFIG = {"scheduling": {"batching": True, "workers": 2, "batch_delay": 0.001, "max_queue": 1000}}


@dataclass
class Factors:
    """The factors of a model: the newest one that is written, and the newest one that is known to serve."""

    written: int = 1
    serving: int = 1


@dataclass
class RequestCounts:
    """What happened to the requests of clients that stay."""

    seconds: list[float] = field(default_factory=list)
    wrong: int = 0
    lost: int = 0
    refused: int = 0
    kills: int = 0
    replacements: int = 0


class HttpClient:
    """A connection that is kept alive."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.reader: asyncio.StreamReader | None = None

    async def request(self, path: str, body: object) -> tuple[int, bytes]:
        if self.reader is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writer.write(message(path, body))
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return int(head[9:12]), await self.reader.readexactly(length)

    def close(self) -> None:
        if self.reader is not None:
            self.writer.close()
            self.reader = None


def message(path: str, body: object) -> bytes:
    data = json.dumps(body).encode()
    return b"POST %s HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n%s" % (path.encode(), len(data), data)


def infer_body(x: int, rows: int) -> object:
    data = [x] * (4 * rows)
    return {"inputs": [{"name": "x", "datatype": "FP32", "shape": [rows, 4], "data": data}]}


class Chaos:
    """The clients of one service."""

    def __init__(self, port: int, models: Path, seed: int) -> None:
        self.port, self.models, self.random = port, models, random.Random(seed)
        self.factors = {name: Factors() for name in MODELS}
        self.counts = RequestCounts()
        self.is_over = False

    async def stay(self, count: int, slow_share: float) -> None:
        """A client that sends `count` requests one after the other, and checks the answers."""
        client = HttpClient(self.port)
        for _ in range(count):
            name = "slow" if self.random.random() < slow_share else "quick"
            await self.check(client, name, self.random.randrange(1, 1000), self.random.randrange(1, 4))
        client.close()

    async def check(self, client: HttpClient, name: str, x: int, rows: int) -> None:
        factors, counts = self.factors[name], self.counts
        first, begin = factors.serving, time.perf_counter()
        try:
            status, data = await client.request(f"/v2/models/{name}/infer", infer_body(x, rows))
        except (OSError, EOFError):
            counts.lost += 1
            client.close()
            return
        counts.seconds.append(time.perf_counter() - begin)
        if status in (429, 503):
            counts.refused += 1
        elif status != 200:
            counts.lost += 1
        else:
            y = json.loads(data)["outputs"][0]["data"]
            allowed = range(first, factors.written + 1)
            if len(y) != 4 * rows or len(set(y)) != 1 or y[0] not in {x * factor for factor in allowed}:
                counts.wrong += 1

    async def vanish(self, count: int) -> None:
        """Clients that reset their connection after a random part of a request, or while it waits or runs."""
        for _ in range(count):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            data = message("/v2/models/slow/infer", infer_body(7, 50))
            is_whole = self.random.random() < 0.7
            writer.write(data if is_whole else data[: self.random.randrange(len(data))])
            await asyncio.sleep(self.random.random() * 0.01)
            writer.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
            writer.transport.abort()
            self.counts.kills += 1
            del reader

    async def replace(self, count: int) -> None:
        """Replaces models one after the other, by request."""
        client = HttpClient(self.port)
        for i in range(count):
            name = ("quick", "slow")[i % 2]
            factors = self.factors[name]
            factors.written += 1
            await asyncio.to_thread(write_model, self.models, name, factors.written)
            status, data = await client.request(f"/v2/repository/models/{name}/load", {})
            assert status == 200, data
            factors.serving = factors.written
            self.counts.replacements += 1
        client.close()


def write_model(models: Path, name: str, factor: int) -> None:
    path = models / name / "model.onnx"
    part = path.with_name(".part.onnx")
    sx.save(sx.from_text(MODELS[name].format(factor=factor)), part)
    part.replace(path)


@contextlib.contextmanager
def running(models: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The process and the port of a service."""
    command = [sys.executable, "-m", "sardonyx", "serve", str(models), "--port", "0", "--log", "json"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        port = 0
        for line in process.stderr:
            text = json.loads(line)["message"]
            if text.startswith("listening on http"):
                port = int(text.rpartition(":")[2])
            if text == "ready":
                break
        threading.Thread(target=process.stderr.read, daemon=True).start()  # the log must not fill its pipe
        try:
            yield process, port
        finally:
            process.terminate()
            process.wait(60)


def memory_of(pid: int) -> int:
    """The resident memory of a process in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmRSS"))


async def soak(chaos: Chaos, pid: int, requests: int, connections: int) -> tuple[int, int]:
    """Sends the requests, a tenth of them first; the memory after both parts in bytes."""
    share = requests // connections
    await asyncio.gather(*(chaos.stay(share // 10, 0.05) for _ in range(connections)))
    before = memory_of(pid)
    await asyncio.gather(*(chaos.stay(share - share // 10, 0.05) for _ in range(connections)))
    return before, memory_of(pid)


async def run_chaos(chaos: Chaos, kills: int, replacements: int, connections: int) -> None:
    """Vanishing clients and replacements, while other clients send requests."""

    async def stay() -> None:
        while not chaos.is_over:
            await chaos.stay(20, 0.5)

    steady = [asyncio.create_task(stay()) for _ in range(connections)]
    groups = 4
    await asyncio.gather(chaos.replace(replacements), *(chaos.vanish(kills // groups) for _ in range(groups)))
    chaos.is_over = True
    await asyncio.gather(*steady)


def report(title: str, counts: RequestCounts, seconds: float) -> None:
    milliseconds = sorted(1000 * s for s in counts.seconds)
    p99 = milliseconds[int(len(milliseconds) * 0.99)]
    rate = len(milliseconds) / seconds
    median = statistics.median(milliseconds)
    print(
        f"{title}: {len(milliseconds)} requests in {seconds:.1f} s, {rate:.0f}/s; {median:.2f} ms, p99 {p99:.2f} ms"
    )
    print(f"  wrong {counts.wrong}, lost {counts.lost}, refused {counts.refused}", end="")
    print(f", clients killed {counts.kills}, replacements {counts.replacements}" if counts.kills else "")


async def measure(args: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory() as folder:
        models = Path(folder)
        for name in MODELS:
            (models / name).mkdir()
            write_model(models, name, 1)
        (models / "slow/config.json").write_text(json.dumps(CONFIG))
        with running(models) as (process, port):
            calm = Chaos(port, models, seed=0)
            begin = time.perf_counter()
            before, after = await soak(calm, process.pid, args.requests, args.connections)
            report("soak", calm.counts, time.perf_counter() - begin)
            print(f"  memory after a tenth {before / 2**20:.1f} MiB, at the end {after / 2**20:.1f} MiB")
            chaos = Chaos(port, models, seed=1)
            begin = time.perf_counter()
            await run_chaos(chaos, args.kills, args.replacements, args.connections)
            report("chaos", chaos.counts, time.perf_counter() - begin)
            print(f"  memory {memory_of(process.pid) / 2**20:.1f} MiB")
    tallies = (calm.counts, chaos.counts)
    return int(any(counts.wrong or counts.lost for counts in tallies))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000, help="of the soak (full size: 1000000)")
    parser.add_argument("--kills", type=int, default=200, help="clients that vanish (full size: 1000)")
    parser.add_argument(
        "--replacements", type=int, default=50, help="of models, under load (full size: 1000)"
    )
    parser.add_argument("--connections", type=int, default=16)
    return asyncio.run(measure(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
