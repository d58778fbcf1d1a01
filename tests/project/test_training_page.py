"""docs/training.md: its Python code runs and prints what its comments say."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import sardonyx.train

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs/training.md").read_text()


def test_the_code_of_the_page_runs(tmp_path: Path) -> None:
    (tmp_path / "examples").mkdir()
    shutil.copytree(ROOT / "examples/digits", tmp_path / "examples/digits")
    code = "".join(re.findall(r"```python\n(.*?)```", TEXT, re.S))
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    expected = re.findall(r"print\(.*\)  # ([\[T].*)", code)
    assert [line for line in lines if line in expected] == expected
    accuracy = float(re.findall(r"'accuracy': ([0-9.]+)", lines[0])[0])
    assert accuracy > 0.9
    assert (tmp_path / "trained.onnx").exists() and (tmp_path / "checkpoint.onnx").exists()


def test_the_tables_name_every_loss_and_optimizer() -> None:
    base = (sardonyx.train.Loss, sardonyx.train.Optimizer, sardonyx.train.Schedule)
    for name in sardonyx.train.__all__:
        kind = getattr(sardonyx.train, name)
        if isinstance(kind, type) and issubclass(kind, base) and kind not in base:
            assert f"`{name}" in TEXT, name
