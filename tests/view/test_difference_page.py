"""The difference of two models in a page: matched nodes, and changes at their places."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model, parse_record
from pages import stub_viewer
from sardonyx._src.cli.main import main
from sardonyx._src.view.page_data import ChangeData, DifferenceData

BEFORE = """
    g (float[N,3] x) => (float[N,2] y) <float[3,2] w = {1, 2, 3, 4, 5, 6}> {
        [product] a = MatMul(x, w) [old] b = Neg(a) [activation] y = LeakyRelu<alpha = 0.5>(b)
    }
"""
AFTER = """
    g (float[N,3] x) => (float[N,2] y) <float[3,2] w = {1, 2, 3, 4, 5, 8}> {
        [product] a = MatMul(x, w) [activation] y = LeakyRelu<alpha = 0.25>(a) [new] z = Exp(y)
    }
"""


def difference(before: str, after: str, **options: object) -> DifferenceData:
    page = sx.view(parse_model(before), parse_model(after), **options)  # type: ignore[arg-type]
    assert page.data["difference"] is not None and len(page.data["documents"]) == 2
    return page.data["difference"]


def change(data: DifferenceData, text: str) -> ChangeData:
    (match,) = [c for c in data["changes"] if text in c["text"]]
    return match


def test_nodes_are_matched() -> None:
    data = difference(BEFORE, AFTER)
    assert data["graphs"] == [{"before": 0, "after": 0, "nodes": [[0, 0], [1, -1], [2, 1], [-1, 2]]}]


def test_changes_are_at_their_places() -> None:
    data = difference(BEFORE, AFTER)
    alpha = change(data, "alpha: 0.5 -> 0.25")
    assert (alpha["kind"], alpha["change"]) == ("attribute", "changed")
    assert alpha["before"] == {"graph": 0, "node": 2, "value": -1, "attribute": "alpha"}
    assert alpha["after"] == {"graph": 0, "node": 1, "value": -1, "attribute": "alpha"}
    removed = change(data, "'old'")
    assert (removed["change"], removed["after"]) == ("removed", None)
    assert removed["before"] == {"graph": 0, "node": 1, "value": -1, "attribute": ""}
    added = change(data, "'new'")
    assert (added["change"], added["before"]) == ("added", None)
    assert added["after"] == {"graph": 0, "node": 2, "value": -1, "attribute": ""}


def test_a_weight_has_its_error() -> None:
    weight = next(c for c in difference(BEFORE, AFTER)["changes"] if c["kind"] == "tensor")
    assert weight["before"] == {"graph": 0, "node": -1, "value": 1, "attribute": ""}
    assert weight["error"] == pytest.approx(2 / 6)


def test_a_renamed_input_is_a_value() -> None:
    data = difference(
        BEFORE, BEFORE.replace("float[N,3] x", "float[N,3] image").replace("(x, w)", "(image, w)")
    )
    renamed = change(data, "'x'")
    assert (renamed["kind"], renamed["text"]) == ("value", "name 'x': x -> image")
    assert renamed["before"] is not None and renamed["before"]["value"] == 0


def test_nested_graphs_and_functions() -> None:
    text = """
        g (bool c, float[2] x) => (float[2] y) {{
            y = If(c) <then_branch = t () => (float[2] a) {{ [n] a = {0}(x) }}, else_branch = e () => (float[2] b) {{ b = my.F(x) }}>
        }}
        <domain: "my", opset_import: ["": 21]> F (v) => (z) {{ [f] z = {1}(v) }}
    """
    before, after = (
        parse_model(text.format(*names), more='"my": 1') for names in (("Neg", "Abs"), ("Exp", "Sin"))
    )
    data = sx.view(before, after).data["difference"]
    assert data is not None
    assert sorted((pair["before"], pair["after"]) for pair in data["graphs"]) == [
        (0, 0),
        (1, 1),
        (2, 2),
        (3, 3),
    ]
    inner = change(data, "ai.onnx.Neg -> ai.onnx.Exp")
    assert inner["before"] is not None and (inner["before"]["graph"], inner["before"]["node"]) == (2, 0)
    body = change(data, "ai.onnx.Abs -> ai.onnx.Sin")
    assert body["after"] is not None and (body["after"]["graph"], body["after"]["node"]) == (1, 0)


def test_equal_models() -> None:
    data = difference(BEFORE, BEFORE)
    assert (data["summary"], data["changes"], data["firstDivergence"]) == (["no difference"], [], -1)


def test_runs_tell_the_first_divergence() -> None:
    data = difference(BEFORE, BEFORE.replace("5, 6}", "5, 8}"), feeds={"x": np.ones((1, 3), np.float32)})
    first = data["changes"][data["firstDivergence"]]
    assert first["text"].startswith("'a' differs in a run")
    assert first["before"] is not None and first["before"]["value"] == 2
    assert first["error"] == pytest.approx(2 / 14)


def test_a_broken_model_has_no_difference_and_is_shown() -> None:
    record = parse_record("g (float[2] x) => (float[2] y) { y = Add(x, y) z = Neg(y) z = Neg(x) }")
    page = sx.view(record, parse_model(BEFORE))
    data = page.data["difference"]
    assert data is not None and data["summary"][0].startswith("no difference: ")
    assert len(page.data["documents"][0]["graphs"][0]["nodes"]["operator"]) == 3


def test_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stub_viewer(monkeypatch)
    monkeypatch.chdir(tmp_path)
    sx.save(parse_model(BEFORE), "a.onnx")
    sx.save(parse_model(BEFORE.replace("Neg(a)", "Abs(a)")), "b.onnx")
    assert main(["view", "a.onnx", "b.onnx", "--random", "0", "--dim", "N=2", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["title"] == "a.onnx – b.onnx"
    assert "ai.onnx.Neg -> ai.onnx.Abs" in data["difference"]["changes"][0]["text"]
    assert data["difference"]["firstDivergence"] > 0
    assert main(["view", "a.onnx", "--random", "0"]) == 2
    assert "--feed and --random require a second model or --profile" in capsys.readouterr().err
