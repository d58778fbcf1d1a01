"""`make next` finds what an onnx package has and we lack, and the other way round: here the released wheel."""

from __future__ import annotations

from onnx_weekly import signatures


def test_a_released_wheel_lacks_what_is_under_development() -> None:
    assert list(signatures.compare_operators()) == ["ai.onnx.GroupedMatMul-29 does not exist in the package"]
    assert list(signatures.compare_messages()) == []
    assert list(signatures.compare_releases()) == []


def test_texts_that_were_not_read_are_named() -> None:
    names = {line.partition(" ")[0] for line in signatures.compare_texts()}
    assert {"ai.onnx.DynamicQuantizeLinear-11", "ai.onnx.Pad-25", "ai.onnx.ml.Normalizer-1"} <= names
    assert "ai.onnx.Pad-18" not in names


def test_tables_are_compared_by_parts() -> None:
    ours = {"Abs": {"inputs": 1, "status": "common"}, "Old": {}}
    theirs = {"Abs": {"inputs": 2, "status": "common"}, "New": {}}
    assert list(signatures.compare_tables(ours, theirs)) == [
        "Abs differs in inputs",
        "New is missing",
        "Old does not exist in the package",
    ]
