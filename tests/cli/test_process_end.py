"""The end of a process of the command: no last collection, unless a plugin's objects may need it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import sardonyx as sx
from models import parse_model

REPORT_FROZEN = """
import atexit, gc, sys
from sardonyx._src.cli.main import entry
atexit.register(lambda: print("frozen objects:", gc.get_freeze_count() > 1000))
sys.argv = ["sardonyx", *sys.argv[1:]]
entry()
"""
# A buffered file that only a collection closes.
PLUGIN = """
class Log:
    def __init__(self):
        self.file, self.itself = open("log.txt", "w"), self

log = Log()
log.file.write("written")
"""


def run_command(folder: Path, *words: str) -> str:
    """What a new process of the command prints on standard output, in a folder."""
    command = [sys.executable, "-c", REPORT_FROZEN, *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=120).stdout


def test_a_command_ends_without_a_last_collection(tmp_path: Path) -> None:
    assert run_command(tmp_path, "--version").endswith("frozen objects: True\n")


def test_the_objects_of_a_plugin_are_collected(tmp_path: Path) -> None:
    (tmp_path / "logging_plugin.py").write_text(PLUGIN)
    sx.save(parse_model("g (float[2] x) => (float[2] y) { y = Abs(x) }"), tmp_path / "m.onnx")
    printed = run_command(tmp_path, "check", "m.onnx", "--plugin", "logging_plugin")
    assert printed.endswith("frozen objects: False\n")
    assert (tmp_path / "log.txt").read_text() == "written"
