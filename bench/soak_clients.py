"""Clients of a service that check every answer, vanish, and replace its models.

Every answer is compared with the one that the model of its time gives: y = factor * x, with a factor that was published between the
beginning and the end of the request.
"""

from __future__ import annotations

import asyncio
import json
import random
import socket
import struct
import time
from dataclasses import dataclass, field
from pathlib import Path

import orjson

import sardonyx as sx

# The slow model spends a millisecond in a loop, so that its requests wait, are joined to batches, and are cancelled.
QUICK = """<ir_version: 10, opset_import: ["": 21]> g (float[N,4] x) => (float[N,4] y) <float w = {{{factor}}}> {{ y = Mul(x, w) }}"""
SLOW = """<ir_version: 10, opset_import: ["": 21]> g (float[N,4] x) => (float[N,4] y)
    <int64 n = {{2000}}, bool go = {{1}}, float one = {{1}}, float w = {{{factor}}}> {{
    last = Loop(n, go, x) <body = b (int64 i, bool c, float[N,4] v) => (bool d, float[N,4] u) {{ d = Identity(c) u = Mul(v, one) }}>
    y = Mul(last, w) }}"""
MODELS = {"quick": QUICK, "slow": SLOW}
CONFIG = {"scheduling": {"batching": True, "workers": 2, "batch_delay": 0.001, "max_queue": 1000}}
RESET = struct.pack("ii", 1, 0)  # SO_LINGER of a socket whose connection is reset when it is closed


@dataclass
class Factors:
    """The factors of a model: the newest one that is written, and the newest one that is known to serve."""

    written: int = 1
    serving: int = 1


@dataclass
class RequestCounts:
    """What happened to the requests of clients that stay.

    lost: without an answer, or with a failure that is no refusal.  refused: with 429 or 503.
    """

    seconds: list[float] = field(default_factory=list)
    wrong: int = 0
    lost: int = 0
    refused: int = 0
    kills: int = 0
    replacements: int = 0


class HttpClient:
    """A connection that is kept alive, and made again after a failure."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.reader: asyncio.StreamReader | None = None

    async def request(self, data: bytes) -> tuple[int, bytes]:
        """Status and body of the response.  Raises OSError and EOFError."""
        if self.reader is None:
            self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writer.write(data)
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


def infer_message(model: str, x: int, rows: int) -> bytes:
    tensor = {"name": "x", "datatype": "FP32", "shape": [rows, 4], "data": [x] * (4 * rows)}
    return message(f"/v2/models/{model}/infer", {"inputs": [tensor]})


class Clients:
    """The clients of one service, and what they know of its models."""

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

    async def stay_until_over(self, slow_share: float) -> None:
        while not self.is_over:
            await self.stay(20, slow_share)

    async def check(self, client: HttpClient, name: str, x: int, rows: int) -> None:
        factors, counts = self.factors[name], self.counts
        first, begin = factors.serving, time.perf_counter()
        try:
            status, data = await client.request(infer_message(name, x, rows))
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
            y = orjson.loads(data)["outputs"][0]["data"]
            allowed = {x * factor for factor in range(first, factors.written + 1)}
            if len(y) != 4 * rows or len(set(y)) != 1 or y[0] not in allowed:
                counts.wrong += 1

    async def vanish(self) -> None:
        """A client that resets its connection after a random part of a request, or while it waits or runs."""
        _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        data = infer_message("slow", 7, 50)
        is_whole = self.random.random() < 0.7
        writer.write(data if is_whole else data[: self.random.randrange(len(data))])
        await asyncio.sleep(self.random.random() * 0.01)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        writer.transport.abort()
        self.counts.kills += 1

    async def replace(self, client: HttpClient, name: str) -> None:
        """Replaces a model by one with another factor, by request."""
        factors = self.factors[name]
        factors.written += 1
        await asyncio.to_thread(write_model, self.models, name, factors.written)
        status, data = await client.request(message(f"/v2/repository/models/{name}/load", {}))
        if status != 200:
            raise SystemExit(f"the replacement of {name} failed: {data.decode()}")
        factors.serving = factors.written
        self.counts.replacements += 1


def write_models(models: Path) -> None:
    """The repository, with both models."""
    for name in MODELS:
        (models / name).mkdir()
        write_model(models, name, 1)
    (models / "slow/config.json").write_text(json.dumps(CONFIG))


def write_model(models: Path, name: str, factor: int) -> None:
    path = models / name / "model.onnx"
    part = path.with_name(".part.onnx")
    sx.save(sx.from_text(MODELS[name].format(factor=factor)), part)
    part.replace(path)
