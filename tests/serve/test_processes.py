"""Services of several processes: a worker that is killed under load, changes of models, metrics, shutdown, shared weights."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc.aio
import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

import sardonyx as sx
from models import parse_model
from sardonyx._src.serve.grpc.messages import EmptyMessage, ModelInferResponse, RepositoryModelRequest
from serve.repositories import write_scale
from serve.test_grpc_server import Client, y_of
from serve.test_grpc_server import request as grpc_request
from serve.test_service import MESSAGE, RunningService, assert_closed

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the port is shared by SO_REUSEPORT")
PROCESSES = 3
CLIENTS = 12
COUNTER = "g (float[1,2] x, float[1,2] total) => (float[1,2] y) { y = Add(x, total) }"


@contextmanager
def running_processes(folder: Path, *options: str, count: int = PROCESSES) -> Iterator[RunningService]:
    command = [sys.executable, "-m", "sardonyx", "serve", str(folder / "models"), "--port", "0"]
    command += ["--log", "json", "--processes", str(count), *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield RunningService(process, folder)
        finally:
            process.kill()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("processes")
    for name in ("a", "b", "c"):
        write_scale(folder / f"models/{name}.onnx", 3)
    with running_processes(folder) as service:
        yield service


def worker_pids(service: RunningService) -> set[int]:
    lists = Path(f"/proc/{service.process.pid}/task").glob("*/children")
    return {int(child) for text in lists for child in text.read_text().split()}


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def post(service: RunningService, path: str, body: object = None) -> tuple[int, object]:
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    connection.request("POST", path, json.dumps(body or {}))
    response = connection.getresponse()
    answer = json.loads(response.read())
    connection.close()
    return response.status, answer


def metrics(service: RunningService) -> dict[tuple[str, str], float]:
    """Values by the name of the sample, and the model or the process."""
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    return {
        (sample.name, sample.labels.get("model", sample.labels.get("process", ""))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def ports_of_clients(pid: int, port: int) -> set[int]:
    """The ports of the clients whose connections to `port` a process has accepted."""
    links = []
    for path in Path(f"/proc/{pid}/fd").iterdir():
        try:
            links.append(os.readlink(path))
        except FileNotFoundError:
            continue  # closed since
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    addresses = {f"socket:[{line[9]}]": (line[1], line[2]) for line in lines}
    pairs = [addresses[link] for link in links if link in addresses]
    numbers = [(int(local[-4:], 16), int(remote[-4:], 16)) for local, remote in pairs]
    return {remote for local, remote in numbers if local == port and remote}


class LoadingClient(threading.Thread):
    """A client that sends requests until it is stopped, over a new connection after a failure.

    ports: of its connections so far.  failed: those that broke.
    """

    def __init__(self, service: RunningService) -> None:
        super().__init__(daemon=True)
        self.service, self.is_over = service, False
        self.ports: list[int] = []
        self.failed: set[int] = set()
        self.right = self.wrong = 0

    def run(self) -> None:
        while not self.is_over:
            connection = http.client.HTTPConnection("127.0.0.1", self.service.port, timeout=60)
            try:
                connection.connect()
                self.ports.append(connection.sock.getsockname()[1])
                while not self.is_over:
                    self.infer(connection)
            except (OSError, http.client.HTTPException):
                self.failed.add(self.ports[-1])
            connection.close()

    def infer(self, connection: http.client.HTTPConnection) -> None:
        connection.request("POST", "/v2/models/a/infer", json.dumps(MESSAGE))
        response = connection.getresponse()
        answer = json.loads(response.read())
        is_right = response.status == 200 and answer["outputs"][0]["data"] == [3, 6]
        self.right, self.wrong = self.right + is_right, self.wrong + (not is_right)


def test_a_killed_worker_takes_only_its_own_connections_with_it(service: RunningService) -> None:
    clients = [LoadingClient(service) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    wait_until(lambda: all(client.right > 20 for client in clients))
    workers = worker_pids(service)
    assert len(workers) == PROCESSES
    counted = metrics(service)["sardonyx_requests_total", "a"]
    ports = {client.ports[-1] for client in clients}
    owned = {pid: ports & ports_of_clients(pid, service.port) for pid in workers}
    assert set().union(*owned.values()) == ports
    victim = max(owned, key=lambda pid: len(owned[pid]))
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: len(worker_pids(service) - {victim}) == PROCESSES)
    before = {client: client.right for client in clients}
    wait_until(lambda: all(client.right > before[client] + 20 for client in clients))
    for client in clients:
        client.is_over = True
    for client in clients:
        client.join(60)
    assert sum(client.wrong for client in clients) == 0
    assert set().union(*(client.failed for client in clients)) == owned[victim]
    assert metrics(service)["sardonyx_requests_total", "a"] > counted, "the counts of the worker are kept"


def answers(service: RunningService, model: str) -> set[object]:
    """Status and output, over connections that reach every process."""
    return {(status, *output) for status, output in (service.infer(model) for _ in range(40))}


def test_a_change_is_acknowledged_when_every_process_has_made_it(service: RunningService) -> None:
    models = service.folder / "models"
    for factor in (5, 7):
        write_scale(models / "b.onnx", factor)
        assert post(service, "/v2/repository/models/b/load")[0] == 200
        assert answers(service, "b") == {(200, factor, 2 * factor)}
    assert post(service, "/v2/repository/models/b/unload")[0] == 200
    assert answers(service, "b") == {(503,)}
    victim = min(worker_pids(service))
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: len(worker_pids(service) - {victim}) == PROCESSES)
    assert answers(service, "b") == {(503,)}, "the new process knows what was unloaded"
    assert post(service, "/v2/repository/models/b/load")[0] == 200
    assert answers(service, "b") == {(200, 7, 14)}


def test_a_failure_is_the_reason_in_every_process(service: RunningService) -> None:
    (service.folder / "models/c.onnx").write_bytes(b"\x08")
    status, answer = post(service, "/v2/repository/models/c/load")
    assert (status, "cannot be loaded" in str(answer)) == (503, True)
    assert answers(service, "c") == {(200, 3, 6)}, "the old model serves"
    assert post(service, "/v2/repository/models/none/load")[0] == 404


def test_metrics_are_those_of_all_processes(service: RunningService) -> None:
    before = metrics(service).get(("sardonyx_requests_total", "a"), 0)
    for _ in range(30):
        service.infer("a")
    values = metrics(service)
    assert values["sardonyx_requests_total", "a"] == before + 30
    assert values["sardonyx_model_ready", "a"] == 1
    usage = {key[1]: value for key, value in values.items() if key[0] == "process_resident_memory_bytes"}
    assert usage.keys() == {"0", "1", "2"}
    assert min(usage.values()) > 1 << 20


def test_calls_of_grpc_reach_all_processes(tmp_path: Path) -> None:
    write_scale(tmp_path / "models/a.onnx", 3)

    async def scenario(port: int) -> None:
        for factor in (3, 5):
            write_scale(tmp_path / "models/a.onnx", factor)
            load = RepositoryModelRequest("", "a")
            async with new_channel(port) as channel:
                await Client(channel).call("RepositoryModelLoad", load, EmptyMessage, 60)
            for _ in range(20):
                async with new_channel(port) as channel:
                    response = await Client(channel).call("ModelInfer", grpc_request(1), ModelInferResponse)
                    assert y_of(response) == [factor, 2 * factor]

    with running_processes(tmp_path, "--grpc-port", "0", count=2) as service:
        asyncio.run(scenario(service.port))  # the port that the log has last, which is that of gRPC


def new_channel(port: int) -> grpc.aio.Channel:
    """A channel that shares no connection with others, so that any process may accept it."""
    return grpc.aio.insecure_channel(f"127.0.0.1:{port}", [("grpc.use_local_subchannel_pool", 1)])


def test_changes_of_files_reach_all_processes(tmp_path: Path) -> None:
    write_scale(tmp_path / "models/a.onnx", 3)
    with running_processes(tmp_path, "--watch", "0.1", count=2) as service:
        write_scale(tmp_path / "models/a.onnx", 7)
        wait_until(lambda: answers(service, "a") == {(200, 7, 14)})
        assert answers(service, "a") == {(200, 7, 14)}


def test_connections_do_not_wait_for_a_worker_that_ends_again_and_again(tmp_path: Path) -> None:
    write_scale(tmp_path / "models/a.onnx", 3)
    with running_processes(tmp_path, count=2) as service:
        known = worker_pids(service)
        victim = max(known)
        for _ in range(2):
            os.kill(victim, signal.SIGKILL)
            wait_until(lambda: bool(worker_pids(service) - known))
            (victim,) = worker_pids(service) - known
            known.add(victim)
        os.kill(victim, signal.SIGKILL)
        wait_until(lambda: listening_sockets(service.port) == 1)
        assert answers(service, "a") == {(200, 3, 6)}
        wait_until(lambda: listening_sockets(service.port) == 2)
        assert answers(service, "a") == {(200, 3, 6)}


def listening_sockets(port: int) -> int:
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(line[3] == "0A" and int(line[1][-4:], 16) == port for line in lines)


def test_sequences_need_one_process(tmp_path: Path) -> None:
    folder = tmp_path / "models/counter"
    folder.mkdir(parents=True)
    sx.save(parse_model(COUNTER), folder / "model.onnx")
    (folder / "config.json").write_text('{"sequences": {"states": {"total": "y"}}}')
    write_scale(tmp_path / "models/a.onnx", 3)
    with running_until_loaded(tmp_path) as service:
        status, answer = post(service, "/v2/repository/models/counter/load")
        assert (status, "--processes 1" in str(answer)) == (503, True)
        assert service.infer("a") == (200, [3, 6])


@contextmanager
def running_until_loaded(folder: Path) -> Iterator[RunningService]:
    """A service with a model that cannot be loaded, so that it never reports to be ready."""
    command = [sys.executable, "-m", "sardonyx", "serve", str(folder / "models"), "--port", "0"]
    with subprocess.Popen(
        [*command, "--log", "json", "--processes", "2"], stderr=subprocess.PIPE, text=True
    ) as process:
        service = RunningService.__new__(RunningService)
        service.process, service.folder = process, folder
        try:
            loaded = 0
            for line in service.lines():
                if line["message"].startswith("listening"):
                    service.port = int(line["message"].rpartition(":")[2])
                loaded += line["message"] == "model a version 1 is ready"
                if loaded == 2:
                    break
            yield service
        finally:
            process.kill()


def test_a_signal_lets_requests_complete_and_leaves_no_process(tmp_path: Path) -> None:
    write_scale(tmp_path / "models/a.onnx", 3)
    with running_processes(tmp_path, count=2) as service:
        workers = worker_pids(service)
        connection = service.connect()
        body = json.dumps(MESSAGE).encode()
        head = b"POST /v2/models/a/infer HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
        connection.sendall(head + body[:9])
        wait_until(lambda: any(ports_of_clients(pid, service.port) for pid in workers))
        service.process.send_signal(signal.SIGTERM)
        for line in service.lines():
            if line["message"] == "shutting down":
                break
        connection.sendall(body[9:])
        assert b'"data":[3.0,6.0]' in assert_closed(connection)
        assert service.process.wait(20) == 0
        assert not any(Path(f"/proc/{pid}").exists() for pid in workers)


def test_workers_end_with_their_supervisor(tmp_path: Path) -> None:
    write_scale(tmp_path / "models/a.onnx", 3)
    with running_processes(tmp_path, count=2) as service:
        workers = worker_pids(service)
        service.process.kill()
        wait_until(lambda: not any(is_running(pid) for pid in workers))


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # whoever adopted the process may reap it later


def test_wrong_settings_end_the_service(tmp_path: Path) -> None:
    write_scale(tmp_path / "models/a.onnx", 3)
    (tmp_path / "token").write_text("")
    command = [sys.executable, "-m", "sardonyx", "serve", str(tmp_path / "models"), "--port", "0"]
    options = ["--processes", "2", "--token-file", str(tmp_path / "token")]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "printable ASCII, the token" in done.stderr


def proportional_bytes(pids: set[int]) -> int:
    """The memory of processes, in which a page that n of them share counts 1/n for each."""
    texts = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in pids]
    return sum(
        int(line.split()[1]) << 10 for text in texts for line in text.splitlines() if line[:4] == "Pss:"
    )


def test_weights_are_in_memory_once(tmp_path: Path) -> None:
    used = {}
    for name, rows in (("small", 8), ("large", 2048)):
        folder = tmp_path / name
        (folder / "models").mkdir(parents=True)
        weights = np.random.default_rng(0).normal(size=(rows, 8192)).astype(np.float32)
        builder = sx.Builder(21)
        builder.output(builder.MatMul(builder.input("x", "FLOAT", ["N", rows]), weights), "y")
        sx.save(builder.model(), folder / "models/a.onnx")
        with running_processes(folder) as service:
            workers = worker_pids(service)
            body = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, rows], "data": [1] * rows}]}
            for _ in range(30):
                assert post(service, "/v2/models/a/infer", body)[0] == 200
            used[name] = proportional_bytes(workers)
    assert used["large"] - used["small"] < 1.5 * weights.nbytes
