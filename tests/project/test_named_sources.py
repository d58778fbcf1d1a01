"""Files that docstrings and comments of the sources name exist, under the name that they have now."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sardonyx._src

SRC = Path(sardonyx._src.__path__[0])
ROOT = Path(__file__).resolve().parents[2]
FILE = re.compile(r"`([\w/]+\.py)`")


@pytest.mark.parametrize("room", sorted(path.name for path in SRC.iterdir() if path.is_dir()))
def test_named_files_exist(room: str) -> None:
    known = [f"/{path.relative_to(SRC).as_posix()}" for path in SRC.rglob("*.py")]
    missing = [
        (path.relative_to(SRC).as_posix(), name)
        for path in sorted((SRC / room).rglob("*.py"))
        for name in FILE.findall(path.read_text())
        if not (ROOT / name).exists() and not any(file.endswith(f"/{name}") for file in known)
    ]
    assert missing == []
