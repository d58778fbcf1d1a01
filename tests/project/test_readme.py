"""README.md: its Python code runs, its numbers are measured, and the pages that continue it say what is true."""

from __future__ import annotations

import json
import re
import shutil
import tomllib
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_record
from page_code import blocks, run_page
from sardonyx._src.cli.main import main, verb_names
from test_zoo import import_benchmark

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text()
COMMAND_LINE = (ROOT / "docs/command_line.md").read_text()
GENERATED = ROOT / "docs/generated"
NUMBERS = json.loads((GENERATED / "front_page.json").read_text())
NUMBER = re.compile(r"\d[\d,.]*\d|\d")


def prose() -> str:
    """The text without code, pictures and the targets of links."""
    text = re.sub(r"^```.*?^```|^    .*?$|<picture>.*?</picture>|<!--.*?-->", "", TEXT, flags=re.M | re.S)
    return re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)


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


def test_it_is_read_in_a_minute() -> None:
    assert 300 <= len(prose().split()) <= 450


def test_every_number_is_measured_or_declared() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        python = tomllib.load(file)["project"]["requires-python"].removeprefix(">=")
    measured = NUMBER.findall(import_benchmark("front_page").highlights(NUMBERS))
    licenses = ["2.0", "4.0"]
    assert set(NUMBER.findall(prose())) <= {*measured, python, *licenses}


@pytest.mark.parametrize("name", ["README.md", "docs/index.md"])
def test_the_first_screen_states_the_numbers_of_the_benchmark(name: str) -> None:
    page = (ROOT / name).read_text()
    (block,) = re.findall(r"<!-- Written by bench/front_page.py -->\n(.*?)<!-- -->\n", page, re.DOTALL)
    assert block == import_benchmark("front_page").highlights(NUMBERS)
    assert block.count("\n- ") == 4


def test_the_chart_and_its_page_show_the_numbers_of_the_benchmark() -> None:
    front_page = import_benchmark("front_page")
    assert (GENERATED / "front_page.md").read_text() == front_page.page(NUMBERS)
    for theme in ("light", "dark"):
        assert (GENERATED / f"front_page_{theme}.svg").read_text() == front_page.chart(NUMBERS, theme)


def test_the_chart_has_a_bar_for_each_number() -> None:
    """Eight networks on three engines, less those that an engine rejects, and a file in two packages."""
    bars = re.findall(r'<rect x="144" ', (GENERATED / "front_page_light.svg").read_text())
    networks = NUMBERS["latency"]["numbers"]
    assert len(networks) == 8
    assert len(bars) == sum(map(len, networks.values())) + 2


def test_a_bar_is_as_long_as_its_time() -> None:
    chart = import_benchmark("bar_chart")
    group = chart.Group("a network", {"ours": 0.002, "theirs": 0.004}, {})
    picture = chart.draw_chart("title", "note", [group], ["ours", "theirs"], chart.LIGHT)
    ours, theirs = map(float, re.findall(r'<rect x="144" y="\d+" width="([\d.]+)"', picture))
    assert ours * 2 == theirs
    assert ">2 ms</text>" in picture
    assert ">4 ms</text>" in picture


def test_the_pages_that_it_names_exist() -> None:
    for page in re.findall(r'\]\(([^)#:]+)\)|src(?:set)?="([^"]+)"', TEXT):
        assert (ROOT / "".join(page)).exists(), page


def test_the_verbs_of_the_table_are_the_verbs() -> None:
    table = re.findall(r"^\| `sardonyx ([\w-]+)", COMMAND_LINE, re.M)
    assert sorted(table) == sorted(verb_names())


def test_the_options_of_the_table_exist(capsys: pytest.CaptureFixture[str]) -> None:
    for line in re.findall(r"^\| `sardonyx .*$", COMMAND_LINE, re.M):
        verb = re.findall(r"sardonyx ([\w-]+)", line)[0]
        assert main([verb, "--help"]) == 0
        page = capsys.readouterr().out
        for option in re.findall(r"--[a-z-]+", line):
            assert option in page, f"{verb} has no {option}"


def test_the_message_that_the_page_of_sessions_shows_is_the_message() -> None:
    shown = re.findall(r"InputError: (.*)", (ROOT / "docs/reference/sessions.md").read_text())[0]
    session = sx.Session(parse_record("g (float[N] x, float[N] y) => (float[N] z) { z = Add(x, y) }"))
    with pytest.raises(sx.InputError) as caught:
        session.run({"x": np.zeros(2, np.float32), "y": np.zeros(3, np.float32)})
    assert str(caught.value) == shown
