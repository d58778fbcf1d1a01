"""examples/serving: the commands of the Dockerfile in an environment of their own, and the manifest by KServe's schema.

There is no container: RUN, HEALTHCHECK and ENTRYPOINT are run as they are written, with the paths and ports of the test in their place,
and with a wheel of this tree in the place of the published package.
"""

from __future__ import annotations

import json
import os
import shlex
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import sardonyx as sx
from serving.kserve_schema import SERVING_RUNTIME

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples/serving"
MODEL = """<ir_version: 10, opset_import: ["": 21]> g (float[N] x) => (float[N] y) { y = Neg(x) }"""
BODY = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [2], "data": [1, 2]}]}


def instructions() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile and their arguments."""
    lines = (EXAMPLES / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    words = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    return [(name, argument) for name, argument in words]


def argument_of(name: str) -> str:
    (argument,) = (argument for instruction, argument in instructions() if instruction == name)
    return argument


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The variables of a container in which RUN has been run: its programs are those of a new virtual environment."""
    folder = tmp_path_factory.mktemp("container")
    pip = [sys.executable, "-m", "pip", "--quiet"]
    subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", str(folder), str(ROOT)], check=True)
    (wheel,) = folder.glob("sardonyx-*.whl")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "venv")], check=True)
    variables = {"PATH": f"{folder / 'venv/bin'}:{os.environ['PATH']}", "HOME": str(folder)}
    variables |= {name: os.environ[name] for name in os.environ if name.startswith(("PIP_", "SSL_"))}
    install, add_user = argument_of("RUN").split(" && ")
    assert "'sardonyx[serve]'" in install
    command = install.replace("sardonyx[serve]", f"{wheel}[serve]")
    subprocess.run(["sh", "-c", command], check=True, env=variables)
    assert shlex.split(add_user)[0] == "useradd", "which the test does not run: it would change this machine"
    assert shlex.split(add_user)[shlex.split(add_user).index("--uid") + 1] == argument_of("USER")
    name, _, value = argument_of("ENV").partition("=")
    assert value.startswith("/tmp/"), "the only folder that can be written to"
    return {**variables, name: str(folder / "cache")}


@contextmanager
def running(command: list[str], environment: dict[str, str], port: int) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, env=environment) as process:
        try:
            deadline = time.monotonic() + 120
            while not is_ready(port):
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.1)
            yield process
        finally:
            process.kill()


def is_ready(port: int) -> bool:
    try:
        return bool(
            urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/health/ready", timeout=5).status == 200
        )
    except OSError:
        return False


def infer(port: int, name: str, token: str = "") -> Any:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v2/models/{name}/infer",
        json.dumps(BODY).encode(),
        {"Authorization": f"Bearer {token}"},
    )
    with urllib.request.urlopen(request, timeout=10) as response:
        return json.load(response)["outputs"][0]["data"]


@pytest.mark.timeout(900)
def test_the_commands_of_the_dockerfile(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    sx.save(sx.from_text(MODEL), tmp_path / "models/neg.onnx")
    (tmp_path / "token").write_text("secret\n")
    port = free_port()
    entry = json.loads(argument_of("ENTRYPOINT"))
    entry[entry.index("/models")] = str(tmp_path / "models")
    health = json.loads(argument_of("HEALTHCHECK").removeprefix("CMD "))
    assert argument_of("EXPOSE") in health[-1]
    check = [*health[:-1], health[-1].replace(argument_of("EXPOSE"), str(port))]
    assert subprocess.run(check, env=environment, capture_output=True, check=False).returncode != 0
    options = ["--token-file", str(tmp_path / "token"), "--port", str(port)]  # as `docker run` appends them
    with running([*entry, *options], environment, port) as process:
        assert subprocess.run(check, env=environment, check=False).returncode == 0
        assert infer(port, "neg", "secret") == [-1, -2]
        assert argument_of("STOPSIGNAL") == "SIGTERM"
        process.terminate()
        assert process.wait(60) == 0


def test_the_manifest_has_the_fields_of_a_serving_runtime() -> None:
    manifest = yaml.safe_load((EXAMPLES / "kserve-runtime.yaml").read_text())
    jsonschema.validate(manifest, SERVING_RUNTIME)
    (container,) = manifest["spec"]["containers"]
    assert container["name"] == "kserve-container", "by which KServe finds the container of the model"
    port = container["ports"][0]["containerPort"]
    assert f"--port={port}" in container["args"]
    assert {container[probe]["httpGet"]["port"] for probe in ("readinessProbe", "livenessProbe")} == {port}
    assert "protocolVersions" in manifest["spec"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**manifest, "spec": {"container": []}}, SERVING_RUNTIME)


@pytest.mark.timeout(900)
def test_the_command_of_the_manifest(environment: dict[str, str], tmp_path: Path) -> None:
    manifest = yaml.safe_load((EXAMPLES / "kserve-runtime.yaml").read_text())
    (container,) = manifest["spec"]["containers"]
    sx.save(
        sx.from_text(MODEL), tmp_path / "model.onnx"
    )  # as the storage initializer leaves it in /mnt/models
    port = free_port()
    command = [*container["command"], *container["args"]]
    command = [
        word.replace("{{.Name}}", "classifier").replace("/mnt/models", str(tmp_path)) for word in command
    ]
    command = [f"--port={port}" if word.startswith("--port=") else word for word in command]
    with running(command, environment, port):
        for probe in ("readinessProbe", "livenessProbe"):
            url = f"http://127.0.0.1:{port}{container[probe]['httpGet']['path']}"
            assert urllib.request.urlopen(url, timeout=10).status == 200
        assert infer(port, "classifier") == [-1, -2]
