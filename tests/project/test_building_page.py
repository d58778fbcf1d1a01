"""docs/building.md: its Python code runs and prints what its comments say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

TEXT = (Path(__file__).resolve().parents[2] / "docs/building.md").read_text()


def test_the_code_of_the_page_runs() -> None:
    code = "".join(re.findall(r"```python\n(.*?)```", TEXT, re.S))
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    expected = re.findall(r"print\(.*\)  # (.*)", code)
    assert re.sub(r"\n ", " ", done.stdout).splitlines() == expected
