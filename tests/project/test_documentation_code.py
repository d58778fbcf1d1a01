"""The code of the documentation runs, and prints what its comments and console sessions say."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from generate.encoder_decoders import write_encoder_decoders
from generate.folders import write_language_models
from page_code import assert_matches, blocks, run_page

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
WITH_TESTS_OF_THEIR_OWN = {"building.md", "extending.md", "training.md"}
IN_ANOTHER_ENVIRONMENT = {"tutorials/score_and_serve.md"}  # clients/serving runs it, with scikit-learn
IN_ANOTHER_PROCESS = {"onnxruntime.md"}  # it replaces a package for the whole process
PAGES = [
    path
    for path in sorted(DOCS.rglob("*.md"))
    if "generated" not in path.parts and list(blocks(path.read_text()))
]
NOT_HERE = WITH_TESTS_OF_THEIR_OWN | IN_ANOTHER_ENVIRONMENT | IN_ANOTHER_PROCESS
NAMES = {str(path.relative_to(DOCS)): path for path in PAGES}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("digits.onnx", "test.npz"):
        shutil.copy(ROOT / "examples/digits" / name, tmp_path)
    write_language_models(tmp_path)
    write_encoder_decoders(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")


@pytest.mark.parametrize("name", sorted(NAMES.keys() - NOT_HERE))
def test_the_code_of_a_page_runs(name: str) -> None:
    run_page(NAMES[name])


@pytest.mark.parametrize("name", sorted(IN_ANOTHER_PROCESS))
def test_the_code_of_a_page_runs_in_a_process(name: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    code = "".join(block.text for block in blocks(NAMES[name].read_text()) if block.language == "python")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_pages_with_tests_of_their_own_exist() -> None:
    assert NAMES.keys() >= NOT_HERE


def test_the_navigation_names_every_page() -> None:
    config = (ROOT / "mkdocs.yml").read_text()
    listed = set(re.findall(r"^ +- (?:[\w ]+: )?([\w/]+\.md)$", config, flags=re.MULTILINE))
    pages = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    assert pages - listed == set()


def test_a_wrong_comment_is_an_error() -> None:
    Path("page.md").write_text("```python\nprint(1 + 1)  # 3\n```\n")
    with pytest.raises(AssertionError, match="line 2: expected"):
        run_page(Path("page.md"))


def test_a_wrong_output_of_a_command_is_an_error() -> None:
    Path("page.md").write_text("```console\n$ sardonyx check digits.onnx\ndigits.onnx: 1 error\n```\n")
    with pytest.raises(AssertionError, match="no issues found"):
        run_page(Path("page.md"))


def test_three_dots_stand_for_any_text() -> None:
    assert_matches("a b c", "a ... c", "here")
    with pytest.raises(AssertionError):
        assert_matches("a b c", "a ... d", "here")
