"""`sardonyx optimize`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main
from sardonyx._src.ir import Node
from sardonyx._src.rewrite import pages
from sardonyx._src.rewrite.engine import driver
from sardonyx._src.rewrite.engine.edit import Edit

TEXT = "g (float[N,2] x) => (float[N,2] y) { a = Identity(x) b = Identity(a) y = Neg(b) }"


@pytest.fixture
def path(tmp_path: Path) -> str:
    sx.save(parse_model(TEXT), tmp_path / "m.onnx")
    return str(tmp_path / "m.onnx")


def test_the_optimized_model_is_written(path: str, tmp_path: Path) -> None:
    assert main(["optimize", path, "-o", str(tmp_path / "out.onnx")]) == 0
    assert [n.op_type for n in sx.load(tmp_path / "out.onnx").graph.nodes] == ["Neg"]


def test_without_a_target_it_reports_and_writes_nothing(
    path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["optimize", path]) == 0
    out = capsys.readouterr().out
    assert out.startswith("nodes: 3 -> 1")
    assert "\n  drop-identity" in out
    assert out.endswith("proof: equal results for 4 sets of generated inputs\n")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["m.onnx"]


def test_it_stops_after_the_given_number_of_edits(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["optimize", path, "--stop-after", "1", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["edits"] == 1 and report["nodes_after"] == 2 and report["proved"] == 4


def test_passes_can_be_chosen_and_left_out(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["optimize", path, "--passes", "fuse-transposes", "--no-verify", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["edits"] == 0
    assert main(["optimize", path, "--skip", "drop-identity,fold-shapes", "--no-verify", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["edits"] == 0


def test_a_pass_that_does_not_exist_is_wrong_use(path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["optimize", path, "--skip", "drop-identities"]) == 2
    assert "did you mean 'drop-identity'?" in capsys.readouterr().err


def test_a_model_that_cannot_be_fed_is_said_to_be_unproved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sx.save(parse_model("g (float[] x) => (float[] y) { y = Neg(x) }"), tmp_path / "m.onnx")
    assert main(["optimize", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "out.onnx")]) == 0
    assert (
        "could not be verified with generated inputs: input 'x' must have a known rank"
        in capsys.readouterr().err
    )


def test_a_pass_that_changes_results_is_named_and_nothing_is_written(
    path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(node: Node, edit: Edit) -> bool:
        """Drops an Identity, which is correct, and then replaces a Neg by an Abs, which is wrong."""
        if node.op_type == "Identity":
            return edit.replace_uses(node.outputs[0], node.inputs[0] or node.outputs[0])
        return node.op_type == "Neg" and edit.replace(node, "Abs", node.inputs)

    broken = replace(pages.passes()["drop-identity"], on_node=wrong, roots=())
    monkeypatch.setattr(driver, "find", lambda name: broken)
    monkeypatch.setattr(driver, "root_operators", lambda name: ())
    assert main(["optimize", path, "-o", str(tmp_path / "out.onnx"), "--passes", "drop-identity"]) == 1
    message = capsys.readouterr().err
    assert "edit 3 (drop-identity at Neg 'y') changes results: output 'y'" in message
    assert "--skip drop-identity or --stop-after 2" in message
    assert not (tmp_path / "out.onnx").exists()


def test_weights_in_a_file_of_their_own_stay_in_one(tmp_path: Path) -> None:
    model = parse_model(
        "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { a = Identity(x) y = Add(a, w) }"
    )
    sx.save(model, tmp_path / "m.onnx", external="m.data", threshold=1)
    assert main(["optimize", str(tmp_path / "m.onnx"), "-o", str(tmp_path / "out.onnx")]) == 0
    weight = sx.load(tmp_path / "out.onnx").graph.initializers["w"].initializer
    assert (tmp_path / "out.onnx.data").exists()
    assert weight is not None and weight.numpy().tolist() == [1, 2]


def test_weights_whose_file_is_missing_are_left_alone(tmp_path: Path) -> None:
    model = parse_model(
        "g (float[2] x) => (float[2] y) <float[2] w = {1, 1}> { a = Identity(x) b = Neg(w) y = Mul(a, b) }"
    )
    sx.save(model, tmp_path / "m.onnx", external="m.data", threshold=1)
    (tmp_path / "m.data").unlink()
    result = sx.optimize(sx.load(tmp_path / "m.onnx"))
    assert [n.op_type for n in result.graph.nodes] == ["Neg", "Mul"]
