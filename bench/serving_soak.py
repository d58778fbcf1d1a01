"""Does a service on this machine stay right and small under a million requests, killed clients, replaced models, killed workers and
10,000 connections?

Every answer is compared with the one that the model of its time gives (`bench/soak_clients.py`): *wrong* counts answers that are not,
*lost* requests without an answer, *refused* answers 429 and 503.  A killed client resets its connection while its request is sent,
waits or runs, as the system does for a process that is killed.  Times tell how busy the machine was, and nothing of the service.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import datetime
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path

import uvloop

from measure import BUILD, FOLDER, commit, machine
from service_process import memory_of, running_service
from soak_clients import RESET, Clients, HttpClient, infer_message, write_models

PAGE = FOLDER.parent / "docs" / "generated" / "serving_soak.md"
STATE = BUILD / "serving_soak"
READINGS = 10  # of memory, in the course of the requests
SOURCES = 4  # addresses of loopback from which connections come, each with ports of its own
STABLE_SECONDS = 11.0  # after which a worker is replaced without delay


@dataclass(frozen=True)
class Running:
    """A running service, and clients of it."""

    process: subprocess.Popen[str]
    port: int
    clients: Clients
    connections: int

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def workers(self) -> set[int]:
        """The processes that it has started."""
        lists = Path(f"/proc/{self.pid}/task").glob("*/children")
        return {int(child) for text in lists for child in text.read_text().split()}


@contextlib.contextmanager
def running(connections: int, *options: str) -> Iterator[Running]:
    """A service of the models of `soak_clients`."""
    with tempfile.TemporaryDirectory() as folder:
        models = Path(folder)
        write_models(models)
        with running_service(models, *options) as (process, port):
            yield Running(process, port, Clients(port, models, seed=0), connections)


async def send_requests(service: Running, count: int) -> str:
    """Requests of clients that stay; memory is read after each tenth of them."""
    share = count // READINGS // service.connections
    memory = []
    for _ in range(READINGS):
        await asyncio.gather(*(service.clients.stay(share, 0.05) for _ in range(service.connections)))
        memory.append(memory_of(service.pid))
        print(f"{len(service.clients.counts.seconds)} requests, {memory[-1]:.1f} MiB", flush=True)
    texts = ", ".join(f"{value:.1f}" for value in memory)
    return f"memory in MiB after each tenth: {texts}"


async def disturb(service: Running, count: int) -> str:
    """As many killed clients as replacements of models, under load."""
    clients = service.clients
    steady = [asyncio.create_task(clients.stay_until_over(0.5)) for _ in range(service.connections)]
    control = HttpClient(service.port)
    memory = []
    for index in range(count):
        vanishing = asyncio.create_task(clients.vanish())
        await clients.replace(control, ("quick", "slow")[index % 2])
        await vanishing
        if (index + 1) % (count // READINGS or 1) == 0:
            memory.append(memory_of(service.pid))
            print(f"{index + 1} replacements, {memory[-1]:.1f} MiB", flush=True)
    clients.is_over = True
    await asyncio.gather(*steady)
    counts = clients.counts
    texts = ", ".join(f"{value:.1f}" for value in memory)
    return f"{counts.kills} clients killed, {counts.replacements} replacements; memory in MiB after each tenth: {texts}"


async def kill_workers(service: Running, count: int) -> str:
    """Kills one worker after the other, under load; the connections of a killed one are lost, and no others."""
    clients = service.clients
    steady = [asyncio.create_task(clients.stay_until_over(0.2)) for _ in range(service.connections)]
    recovery = []
    for index in range(count):
        await asyncio.sleep(STABLE_SECONDS)
        workers = sorted(service.workers)
        os.kill(workers[index % len(workers)], signal.SIGKILL)
        begin = time.perf_counter()
        while len(service.workers - {workers[index % len(workers)]}) < len(workers):
            await asyncio.sleep(0.05)
        recovery.append(time.perf_counter() - begin)
    clients.is_over = True
    await asyncio.gather(*steady)
    seconds = statistics.median(recovery)
    held = service.connections
    return f"one of 2 workers killed {count} times, with {held} connections; a new process after {seconds:.2f} s (median)"


async def hold_connections(service: Running, count: int) -> str:
    """Idle and slow connections up to the limit of the service and beyond it, while another client sends requests."""
    before = memory_of(service.pid)
    held = [connect(service.port, index) for index in range(count)]
    open_files = len(list(Path(f"/proc/{service.pid}/fd").iterdir()))
    await service.clients.stay(200, 0.05)
    during = memory_of(service.pid)
    held += [connect(service.port, index) for index in range(count // 20)]
    await service.clients.stay(200, 0.05)
    await asyncio.sleep(1)
    closed = sum(is_closed(connection) for connection in held)
    after = memory_of(service.pid)
    for connection in held:
        connection.close()
    return (
        f"{open_files} open files of the service with {count} connections; {count // 20} more closed {closed} of the oldest; "
        f"memory {before:.1f}, {during:.1f} and {after:.1f} MiB"
    )


def connect(port: int, index: int) -> socket.socket:
    """A connection that is idle, or has sent a part of its headers or of its body."""
    source = f"127.0.0.{2 + index % SOURCES}", 0
    connection = socket.create_connection(("127.0.0.1", port), timeout=60, source_address=source)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    data = infer_message("quick", 1, 1)
    connection.sendall(data[: (0, 30, 0, len(data) - 1)[index % 4]])
    connection.setblocking(False)
    return connection


def is_closed(connection: socket.socket) -> bool:
    """Whether the service has closed a connection."""
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


@dataclass(frozen=True)
class Part:
    """A part of the soak.  count: at full size; options: of the service."""

    title: str
    run: Callable[[Running, int], Coroutine[None, None, str]]
    count: int
    options: tuple[str, ...] = ()


PARTS = {
    "requests": Part("1,000,000 requests", send_requests, 1_000_000),
    "chaos": Part("killed clients and replaced models", disturb, 1000),
    "workers": Part("killed workers, `--processes 2`", kill_workers, 20, ("--processes", "2")),
    "connections": Part("10,000 connections", hold_connections, 10_000),
}


def measure(part: Part, count: int, connections: int) -> dict[str, object]:
    """The results of a part, as the page has them."""
    stamp = f"{datetime.datetime.now(datetime.UTC).date()} at {commit()}: {machine()}."
    with running(connections, *part.options) as service:
        begin = time.perf_counter()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            notes = runner.run(part.run(service, count))
        seconds = time.perf_counter() - begin
    counts = service.clients.counts
    return {
        "count": count,
        "requests": len(counts.seconds),
        "wrong": counts.wrong,
        "lost": counts.lost,
        "refused": counts.refused,
        "minutes": seconds / 60,
        "notes": notes,
        "stamp": stamp,
    }


def page(results: dict[str, dict[str, object]]) -> str:
    lines = ["# Endurance of a service", "", (__doc__ or "").strip(), ""]
    lines += ["Written by `python bench/serving_soak.py`.", ""]
    lines += ["| part | requests | wrong | lost | refused | minutes |", "|---|---:|---:|---:|---:|---:|"]
    for name, part in PARTS.items():
        if r := results.get(name):
            lines.append(
                f"| {part.title} | {r['requests']} | {r['wrong']} | {r['lost']} | {r['refused']} | {r['minutes']:.1f} |"
            )
    lines.append("")
    for name, part in PARTS.items():
        if r := results.get(name):
            lines += [f"**{part.title}** ({r['count']}): {r['notes']}. Measured on {r['stamp']}", ""]
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)} (those without results)")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="share of the full size; the page is written at 1"
    )
    parser.add_argument("--connections", type=int, default=16, help="of clients that stay")
    parser.add_argument("--state", type=Path, default=STATE, help="folder of the results of the parts")
    args = parser.parse_args()
    args.state.mkdir(parents=True, exist_ok=True)
    files = {name: args.state / f"{name}.json" for name in PARTS}
    is_whole = args.scale == 1
    todo = args.parts or [name for name, file in files.items() if not (is_whole and file.exists())]
    failures = 0
    for name in todo:
        part = PARTS[name]
        result = measure(part, max(READINGS, int(part.count * args.scale)), args.connections)
        print(name, json.dumps(result), flush=True)
        failures += bool(result["wrong"]) or (bool(result["lost"]) and name != "workers")
        if is_whole:
            files[name].write_text(json.dumps(result))
            PAGE.write_text(page({n: json.loads(f.read_text()) for n, f in files.items() if f.exists()}))
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
