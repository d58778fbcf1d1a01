"""Programs that use the package pass mypy --strict and pyright: the examples, and the Python code of README.md and the pages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    ROOT / "README.md",
    *(ROOT / "docs" / f"{name}.md" for name in ("building", "extending", "training")),
]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))
PROGRAM = """
import numpy as np
import sardonyx as sx

session = sx.Session("m.onnx")
y = session.run({"x": np.zeros(2, np.float32)})["y"]
print(y + 1, (y @ y.T).sum(), y.shape[0], float(y[0]))
training = sx.TrainingSession("t.onnx")
print(training.step({})["loss"] + 1, training.infer({})["y"] * 2)
labels = session.run({})["labels"]
if isinstance(labels, list):
    print(labels[0])
report = sx.tools.optimize_with_report("m.onnx").report
print(report.nodes_after + 1, [error.location for error in sx.tools.convert_partially("m.onnx", 13).errors])
"""
WRONG = """
import sardonyx as sx

outputs = sx.Session("m.onnx").run({})
outputs["y"].no_such_attribute  # type checkers know arrays
outputs[1]
sx.optimize("m.onnx", report=None)
sx.infer("m.onnx", errors=[])
"""


def python_of(page: Path) -> str:
    return "".join(re.findall(r"```python\n(.*?)```", page.read_text(), re.S))


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The examples, a program for each page, and one that computes with what runs return."""
    folder = tmp_path_factory.mktemp("programs")
    (folder / "results_program.py").write_text(PROGRAM)
    for page in PAGES:
        (folder / f"{page.stem.lower()}_page.py").write_text(python_of(page))
    return [*EXAMPLES, *sorted(folder.glob("*.py"))]


def mypy_errors(*programs: Path) -> list[str]:
    """What mypy reports with the project's settings, which are strict; results are cached with those of the project."""
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", *map(str, programs)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if ": error:" in line]


def pyright_errors(folder: Path, *programs: Path) -> list[str]:
    """What pyright reports in its standard mode; basedpyright is its distribution whose wheel needs no network."""
    config = {
        "include": [*map(str, programs)],
        "extraPaths": [str(ROOT / "src")],
        "typeCheckingMode": "standard",
        "reportMissingImports": "warning",
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(config))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--level", "error"]
    command += ["--pythonpath", sys.executable, "--project", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    report = json.loads(done.stdout)
    assert report["summary"]["filesAnalyzed"] == len(programs)
    return [
        f"{d['file']}:{d['range']['start']['line'] + 1}: {d['message']}"
        for d in report["generalDiagnostics"]
        if d["severity"] == "error"
    ]


@pytest.mark.slow
def test_programs_pass_mypy(programs: list[Path]) -> None:
    assert mypy_errors(*programs) == []


@pytest.mark.slow
def test_programs_pass_pyright(programs: list[Path], tmp_path: Path) -> None:
    assert pyright_errors(tmp_path, *programs) == []


@pytest.mark.slow
def test_mistakes_are_reported(tmp_path: Path) -> None:
    program = tmp_path / "wrong_program.py"
    program.write_text(WRONG)
    lines = [int(error.removeprefix(str(program)).split(":")[1]) for error in mypy_errors(program)]
    assert lines == [5, 6, 7, 8]
    lines = [
        int(error.removeprefix(str(program)).split(":")[1]) for error in pyright_errors(tmp_path, program)
    ]
    assert lines == [5, 6, 7, 8]
