"""Streams and exit codes: streams that are closed, full, truncated or in another encoding."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from models import parse_record
from sardonyx._src.cli.output.streams import printable
from sardonyx._src.proto.binary import encode

LOOP = """g (bool c, float[1] x) => (y) { n = Constant <value_int = 4611686018427387904> ()
  y = Loop (n, t, x) <body = b (int64 i, bool k, float[1] v) => (bool l, float[1] w) { l = Identity(k)  w = Identity(v) }>
}"""


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A model whose names are not UTF-8 and contain terminal escape sequences."""
    record = parse_record("g (float[2] x) => (float[2] y) { y = Abs(x) }")
    assert record.graph is not None
    record.graph.input[0].name = "x\udc80"
    record.graph.node[0].input = ["x\udc80"]
    record.producer_name = "a\udcff\x1b[31mred"
    (tmp_path / "odd.onnx").write_bytes(encode(record))
    return tmp_path / "odd.onnx"


def call(words: Sequence[object], **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sardonyx", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, **options)  # type: ignore[call-overload, no-any-return]


@pytest.mark.parametrize("encoding", ["utf-8:strict", "ascii:strict"])
@pytest.mark.parametrize(
    "verb", ["show", "show --json", "show --text", "infer", "infer --json", "run --random 0", "run"]
)
def test_any_name_can_be_printed(odd: Path, verb: str, encoding: str) -> None:
    name, *options = verb.split()
    done = call([name, odd, *options], env={**os.environ, "PYTHONIOENCODING": encoding})
    assert "Traceback" not in done.stderr
    assert done.returncode == (2 if verb == "run" else 0)
    assert "\x1b" not in done.stdout + done.stderr
    if "--json" in options:
        assert isinstance(json.loads(done.stdout), dict)


def test_help_can_be_printed_in_any_encoding() -> None:
    done = call(["run", "--help"], env={**os.environ, "PYTHONIOENCODING": "ascii:strict"})
    assert done.returncode == 0


def test_unprintable_characters_are_escaped() -> None:
    assert printable("a\x1bé\udc80\n\u202e") == "a\\x1bé\\udc80\\n\\u202e"


def test_a_closed_output_pipe_is_no_error(odd: Path) -> None:
    for words in (["ops"], ["show", odd], ["run", odd, "--random", 0, "--json"]):
        reading, writing = os.pipe()
        os.close(reading)
        command = [sys.executable, "-m", "sardonyx", *map(str, words)]
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
        os.close(writing)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no full device")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_is_said(unbuffered: str) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "sardonyx", "ops", "Conv"]
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=environment
        )
    assert done.returncode == 2
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("stream", ["<&-", ">&-", "2>&-"])
def test_closed_streams_are_borne(odd: Path, stream: str) -> None:
    word = "-" if stream == "<&-" else str(odd)
    command = f'"{sys.executable}" -m sardonyx show "{word}" {stream}'
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert done.returncode == (2 if word == "-" else 0)
    if word == "-":
        assert done.stderr == "sardonyx: standard input must be open; got a closed stream\n"


def test_control_c_ends_quietly(tmp_path: Path) -> None:
    text = LOOP.replace("4611686018427387904", "10000000").replace(
        "n = ", "t = Constant <value = bool {1}> ()  n = "
    )
    (tmp_path / "m.onnx").write_bytes(encode(parse_record(text)))
    command = [
        sys.executable,
        "-m",
        "sardonyx",
        "run",
        str(tmp_path / "m.onnx"),
        "--random",
        "0",
        "--repeat",
        "2",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        time.sleep(1.5)  # until it is at work; a slower start is interrupted in Python's own imports
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=20)
    assert out == ""
    assert running.returncode in (130, -signal.SIGINT)
    if running.returncode == 130:
        assert err == ""


def test_an_empty_standard_input_is_an_error_of_the_model() -> None:
    done = call(["show", "-"], stdin=subprocess.DEVNULL)
    assert done.returncode == 1
    assert "must contain a model; got an empty file" in done.stderr


def test_help_loads_no_engine() -> None:
    code = "import sys; from sardonyx._src.cli.main import main; main(['show', '--help']); print([m for m in sys.modules if m.startswith(('rich', 'sardonyx._src.runtime', 'sardonyx._src.ops'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
