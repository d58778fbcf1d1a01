"""README.md: its Python code runs, and its table lists the verbs of the command line."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_record
from page_code import blocks, run_page
from sardonyx._src.cli.main import main, verb_names

ROOT = Path(__file__).resolve().parent.parent
TEXT = (ROOT / "README.md").read_text()


def test_the_python_runs_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples/digits").mkdir(parents=True)
    for name in ("digits.onnx", "test.npz"):
        shutil.copy(ROOT / "examples/digits" / name, tmp_path / "examples/digits" / name)
    monkeypatch.chdir(tmp_path)
    assert [block.language for block in blocks(TEXT)] == ["python"]
    run_page(ROOT / "README.md")
    assert (tmp_path / "built.onnx").exists()


def test_ten_lines_are_ten() -> None:
    (block,) = blocks(TEXT)
    lines = [line for line in block.text.splitlines() if line and not line.startswith("import ")]
    assert len(lines) == 10


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
