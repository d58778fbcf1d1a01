"""The longest callback of a service's event loop under hostile load, for a process of its own."""

from __future__ import annotations

import asyncio
import asyncio.events
import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.serve.service.service import Service
from serve.running import run_service
from serve.test_hostile_load import FILL, FILL_BODY, MEGABYTE, body, send, send_grpc


@contextlib.contextmanager
def callbacks() -> Iterator[list[float]]:
    """The processor seconds of each callback of event loops in a block."""
    seconds: list[float] = []
    run = asyncio.events.Handle._run

    def timed_run(handle: asyncio.events.Handle) -> None:
        begin = time.thread_time()
        run(handle)
        seconds.append(time.thread_time() - begin)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asyncio.events.Handle, "_run", timed_run)
        yield seconds


def longest_callback(path: str) -> float:
    """The processor seconds of the longest callback; path: an empty folder for the models."""
    folder, durations = Path(path), list[float]()
    sx.save(parse_model("g (float[N,2] x) => (int64[2] y) { y = Shape(x) }"), folder / "a.onnx")
    sx.save(parse_model(FILL), folder / "fill.onnx")
    nested = body([MEGABYTE, 2], b"[1,1],")
    message = b"\x3a\x80\x80\x80\x1e" + bytes(60 * MEGABYTE)  # a field of 60 MiB

    async def scenario(service: Service) -> None:
        http, grpc_port = service.ports["http"], service.ports["grpc"]
        for _ in range(3):
            assert b" 200 " in await asyncio.to_thread(send, http, FILL_BODY % 1, b"fill")
        with callbacks() as seconds:
            answers = await asyncio.gather(
                asyncio.to_thread(send, http, nested),
                asyncio.to_thread(send, http, FILL_BODY % 10_000_000, b"fill"),
                asyncio.to_thread(send, http, FILL_BODY % 100_000_000, b"fill"),
                asyncio.to_thread(send_grpc, grpc_port, message),
            )
        assert [int(answer.split()[1]) for answer in answers[:3]] == [200, 200, 413]
        assert answers[3] == "NOT_FOUND"
        durations.append(max(seconds))

    run_service(folder, scenario)
    return durations[0]
