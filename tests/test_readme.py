"""README.md: its Python code runs, and its table lists the verbs of the command line."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_record
from sardonyx._src.cli.main import main, verb_names

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXT, re.S)


def test_the_python_runs_unchanged(tmp_path: Path) -> None:
    (tmp_path / "examples/digits").mkdir(parents=True)
    for name in ("digits.onnx", "test.npz"):
        shutil.copy(ROOT / "examples/digits" / name, tmp_path / "examples/digits" / name)
    python_blocks = blocks("python")
    assert python_blocks
    for block in python_blocks:
        command = [sys.executable, "-W", "error", "-c", block]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert "float[N,64]" in done.stdout
        accuracy = float(done.stdout.splitlines()[1])
        assert accuracy >= 0.97
    assert (tmp_path / "copy.data").exists()


def test_the_verbs_of_the_table_are_the_verbs() -> None:
    table = re.findall(r"^\| `sardonyx ([\w-]+)", TEXT, re.M)
    assert sorted(table) == sorted(verb_names())


def test_the_options_of_the_table_exist(capsys: pytest.CaptureFixture[str]) -> None:
    for line in re.findall(r"^\| `sardonyx .*$", TEXT, re.M):
        verb = re.findall(r"sardonyx ([\w-]+)", line)[0]
        assert main([verb, "--help"]) == 0
        page = capsys.readouterr().out
        for option in re.findall(r"--[a-z-]+", line):
            assert option in page, f"{verb} has no {option}"


def test_the_pages_that_it_names_exist() -> None:
    for page in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (ROOT / page).exists(), page


def test_the_message_that_it_shows_is_the_message() -> None:
    shown = re.findall(r"InputError: (.*)", TEXT)[0]
    session = sx.Session(parse_record("g (float[N] x, float[N] y) => (float[N] z) { z = Add(x, y) }"))
    with pytest.raises(sx.InputError) as caught:
        session.run({"x": np.zeros(2, np.float32), "y": np.zeros(3, np.float32)})
    assert str(caught.value) == shown
