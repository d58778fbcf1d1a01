"""docs/extending.md: its C function, compiled, runs as the kernel of its operator."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TEXT = (Path(__file__).resolve().parents[2] / "docs/extending.md").read_text()
COMPILER = shutil.which("cc")
RUN = """
b = sx.Builder(21)
model = b.model(y=b.domain("com.example").Shift(b.input("x", "float32", ["N", 3]), amount=0.5))
session = sx.Session(model, engine="native", threads=2)
x = np.arange(3000, dtype=np.float32).reshape(1000, 3)
print((session.run({"x": x})["y"] == x + 0.5).all(), session.stats.fallback_nodes)
"""


@pytest.mark.native
@pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")
def test_the_c_function_of_the_page_runs(tmp_path: Path) -> None:
    assert COMPILER is not None
    (source,) = re.findall(r"```c\n(.*?)```", TEXT, re.S)
    (tmp_path / "shift.c").write_text(source)
    build = [COMPILER, "-Wall", "-Werror", "-O2", "-shared", "-fPIC", "shift.c", "-o", "shift.so"]
    subprocess.run(build, cwd=tmp_path, check=True)
    (program,) = re.findall(r"```text\n(import ctypes.*?)```", TEXT, re.S)
    code = f"import numpy as np\nimport sardonyx as sx\n{program}{RUN}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "True 0", done.stderr
