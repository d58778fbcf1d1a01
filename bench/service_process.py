"""A process of `sardonyx serve`, for benchmarks that send it requests."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def running_service(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """The process and the port of a service of a folder that is ready.  options: of the command."""
    command = [sys.executable, "-m", "sardonyx", "serve", str(folder), "--port", "0", "--log", "json"]
    with subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True) as process:
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


def memory_of(pid: int) -> float:
    """The resident memory of a process in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))
