"""The tutorial of scoring and serving a pipeline of scikit-learn, whose blocks are run in their order."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from page_code import CommandRunner, run_page

PAGE = Path(__file__).resolve().parents[2] / "docs/tutorials/score_and_serve.md"
PORT = "8000"  # of the page


@pytest.mark.timeout(300)
def test_the_tutorial_of_scoring_and_serving_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    text = PAGE.read_text()
    assert PORT in text
    page = tmp_path / PAGE.name
    page.write_text(text.replace(PORT, str(free_port())))
    with shell() as run_command:
        run_page(page, run_command)


@contextmanager
def shell() -> Iterator[CommandRunner]:
    """A shell in the current folder, which runs commands; what it starts in the background ends with it."""
    with subprocess.Popen(
        ["bash"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        requests, answers = process.stdin, process.stdout

        def run_command(command: str) -> tuple[int, str]:
            mark = uuid4().hex
            requests.write(f"{command}\necho {mark}$?\n")
            requests.flush()
            output = ""
            for line in answers:
                output += line
                if mark in line:
                    break
            text, _, code = output.rpartition(mark)
            return int(code), text

        try:
            yield run_command
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
