"""A model as a page: records to data to HTML."""

from __future__ import annotations

from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model
from pages import data_of, stub_viewer
from sardonyx._src.cli.main import main

MODEL = """
    g (float[N,3] x) => (float[N,2] y) <float[3,2] w = {1, 2, 3, 4, 5, 6}> {
        [product] a = MatMul(x, w)
        [activation] y = LeakyRelu<alpha = 0.5>(a)
    }
"""


@pytest.fixture(autouse=True)
def _viewer(monkeypatch: pytest.MonkeyPatch) -> None:
    stub_viewer(monkeypatch)


def test_a_page_holds_the_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sx.save(parse_model(MODEL), tmp_path / "m.onnx")
    assert main(["view", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "m.html")]) == 0
    assert "written" in capsys.readouterr().out
    data = data_of((tmp_path / "m.html").read_text("ascii"))
    (document,) = data["documents"]
    graph, strings = document["graphs"][0], document["strings"]
    assert data["title"] == "m.onnx"
    assert [strings[i] for i in graph["nodes"]["operator"]] == ["MatMul", "LeakyRelu"]
    assert [strings[i] for i in graph["values"]["name"]] == ["x", "w", "a", "y"]
    assert [strings[i] for i in graph["values"]["type"]] == [
        "float32[N, 3]", "float32[3, 2]", "float32[N, 2]", "float32[N, 2]",
    ]  # fmt: skip
    assert graph["values"]["source"] == [1, 1, 2, 1]
    assert (graph["nodes"]["inputs"], graph["nodes"]["inputEnds"]) == ([0, 1, 2], [2, 3])
    assert document["tensors"][0]["preview"] == "[1, 2, 3, 4, 5, 6]"


def test_the_policy_permits_the_viewer_alone(tmp_path: Path) -> None:
    sx.save(parse_model(MODEL), tmp_path / "m.onnx")
    main(["view", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "m.html")])
    page = (tmp_path / "m.html").read_text("ascii")
    assert "default-src 'none'; script-src 'sha256-" in page
    assert "connect-src 'none'" in page
    assert "unsafe" not in page
