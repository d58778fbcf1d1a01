"""The deployment on Ray Serve that docs/scheduling.md shows: its replicas answer, batch, and are replaced when one is killed."""

from __future__ import annotations

import json
import os
import signal
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import ray
from ray import serve

import sardonyx as sx

PAGE = Path(__file__).resolve().parents[2] / "docs/scheduling.md"
MODEL = """<ir_version: 10, opset_import: ["": 21]>
g (float[N,2] x) => (float[N,2] y) <float three = {3}> { y = Mul(x, three) }"""
DEPLOYMENT_LINES = 10


def deployment() -> str:
    """The block of Python in the section on Ray Serve."""
    section = PAGE.read_text().partition("## Ray Serve\n")[2]
    return section.partition("```py\n")[2].partition("```\n")[0]


@pytest.fixture(scope="module", autouse=True)
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The deployment, run as the page has it, in a folder with a model."""
    folder = tmp_path_factory.mktemp("deployment")
    sx.save(sx.from_text(MODEL), folder / "model.onnx")
    module = folder / "deployed.py"
    module.write_text(deployment())
    before = Path.cwd()
    os.chdir(folder)
    ray.init(num_cpus=3, object_store_memory=100 << 20, log_to_driver=False, include_dashboard=False)
    exec(compile(module.read_text(), str(module), "exec"), {"__name__": "deployed"})
    yield
    serve.shutdown()
    ray.shutdown()
    os.chdir(before)


def infer(row: list[float]) -> list[float]:
    request = urllib.request.Request("http://127.0.0.1:8000/", json.dumps(row).encode())
    with urllib.request.urlopen(request, timeout=60) as response:
        answer: list[float] = json.load(response)
    return answer


def replica_pids() -> set[int]:
    """The processes of the replicas, by the titles that Ray gives them."""
    pids = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            title = path.read_bytes()
        except OSError:
            continue  # it has ended
        if title.startswith(b"ray::ServeReplica:default:Model"):
            pids.add(int(path.parent.name))
    return pids


def test_the_deployment_has_ten_lines() -> None:
    lines = [line for line in deployment().splitlines() if line and not line.startswith(("import", "from"))]
    assert len(lines) == DEPLOYMENT_LINES


def test_each_client_gets_the_rows_of_its_own_request() -> None:
    rows = [[float(i), float(-i)] for i in range(200)]
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(infer, rows)) == [[3 * x for x in row] for row in rows]


def test_a_killed_replica_is_replaced() -> None:
    first = replica_pids()
    assert len(first) == 2
    victim = min(first)
    os.kill(victim, signal.SIGKILL)
    deadline = time.monotonic() + 120
    while not (len(replica_pids() - {victim}) == 2 and victim not in replica_pids()):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert infer([1, 2]) == [3, 6]
