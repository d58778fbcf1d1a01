"""docs/coming_from.md: every line of Sardonyx runs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import sardonyx
import sardonyx.compat.onnx
from models import parse_model

PAGE = Path(__file__).resolve().parents[2] / "docs/coming_from.md"
ROWS = re.findall(r"^\| .* \| `([^`]+)` \|$", PAGE.read_text(), flags=re.MULTILINE)
TEXT = "g (float[N,2] x) => (float[N,2] y) <float[2] w = {1, 2}> { t = Mul(x, w) y = Relu(t) }"


def test_the_page_has_rows() -> None:
    assert len(ROWS) > 30


@pytest.mark.parametrize("line", ROWS)
def test_each_line_runs(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model = parse_model(TEXT, opset=21)
    sardonyx.save(model, "m.onnx")
    builder = sardonyx.Builder(opset=21)
    operand = builder.input("x", "float32", [2]) + 1
    names = {"sx": sardonyx, "sardonyx": sardonyx, "np": np, "proto": sardonyx.to_onnx(model)}
    result = eval(line, {**names, "x": np.ones((3, 2), np.float32), "b": builder, "operand": operand})
    assert result is not None or line.startswith("sx.save(")
    if line.endswith(".ok"):
        assert result is True
