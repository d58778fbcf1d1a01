"""The page "Coming from onnxruntime": its program runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_program_of_the_page_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "onnxruntime.md").read_text(), re.DOTALL)
    code += "\nprint(session.get_inputs()[0].type)"
    process = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert process.stdout.strip() == "tensor(float)", process.stderr
