"""Process replay: recordings of module texts, and their comparison."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

import replay
import sardonyx
from replay_corpus import Corpus

SOURCES = Path(str(sardonyx.__file__)).parent.parent
ADD = "define void @f(ptr %p) {\n  %a = add i64 1, 2\n  ret void\n}"
MULTIPLY = ADD.replace("add", "mul")
HASH, OTHER_HASH = "0123456789abcdef01234567", "fedcba9876543210fedcba98"


def recording(models: Mapping[str, Sequence[str]], outputs: str | None = None) -> replay.Recording:
    result = replay.Recording()
    for name, texts in models.items():
        result.add(name, "compiled", texts, outputs)
    return result


def test_equal_recordings_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    models = {"a": [ADD, MULTIPLY], "b": [ADD]}
    assert replay.compare(recording(models), recording(models)) == 0
    assert capsys.readouterr().out == "3 modules of 2 models: equal\n"


def test_a_changed_instruction_is_shown_as_a_diff(capsys: pytest.CaptureFixture[str]) -> None:
    assert replay.compare(recording({"a": [ADD]}), recording({"a": [MULTIPLY]})) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "a: 1 modules in A only, 1 in B only"
    assert "-  %n1 = add i64 1, 2" in lines and "+  %n1 = mul i64 1, 2" in lines
    assert lines[-1] == "1 of 1 models differ"


def test_a_module_is_compared_with_the_nearest_one() -> None:
    unlike = "target triple = 'x'"
    assert list(replay.nearest([ADD], [unlike, MULTIPLY])) == [(ADD, MULTIPLY)]
    assert list(replay.nearest([ADD], [])) == [(ADD, "")]
    assert list(replay.nearest([], [ADD])) == [("", ADD)]


def test_a_missing_module_and_a_missing_model_are_differences(capsys: pytest.CaptureFixture[str]) -> None:
    assert replay.compare(recording({"a": [ADD, ADD], "b": []}), recording({"a": [ADD]})) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "a: 1 modules in A only, 0 in B only"
    assert "b: recorded in A only" in lines


def test_a_status_is_compared(capsys: pytest.CaptureFixture[str]) -> None:
    rejected = replay.Recording()
    rejected.add("a", "unsupported", [], None)
    assert replay.compare(recording({"a": []}), rejected) == 1
    assert capsys.readouterr().out.startswith("a: compiled in A, unsupported in B\n")


def test_outputs_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    assert replay.compare(recording({"a": [ADD]}, "1"), recording({"a": [ADD]}, "2")) == 1
    assert capsys.readouterr().out.startswith("a: the modules are equal and the outputs differ\n")


def test_the_order_of_modules_does_not_count() -> None:
    assert replay.compare(recording({"a": [ADD, MULTIPLY]}), recording({"a": [MULTIPLY, ADD]})) == 0


def test_digests_in_symbols_are_numbered() -> None:
    text = f'define void @sx_{HASH}() {{\n  call void @"g.{OTHER_HASH}"()\n  call void @sx_{HASH}()\n}}'
    assert replay.normalize(text) == 'define void @sx_#0() {\n  call void @"g.#1"()\n  call void @sx_#0()\n}'
    renamed = text.replace(HASH, "a" * 24)
    assert replay.compare(recording({"a": [text]}), recording({"a": [renamed]})) == 0


def test_names_of_values_and_blocks_are_numbered() -> None:
    text = "define void @f(ptr %p) {\nentry:\n  %a = load i64, ptr %p\n  br label %entry\n}"
    renamed = text.replace("%a", "%b").replace("entry", "start")
    assert replay.compare(recording({"a": [text]}), recording({"a": [renamed]})) == 0
    other_operand = text.replace("load i64, ptr %p", "load i64, ptr %q")
    assert replay.compare(recording({"a": [text]}), recording({"a": [other_operand]})) == 1


@pytest.mark.parametrize("text", ["add i64 1234567890123456789, %n0", "fadd double 0x3ff0000000000000, %n0"])
def test_numbers_are_no_digests(text: str) -> None:
    assert replay.normalize(text) == text


def test_different_digests_of_one_module_stay_apart() -> None:
    twice = f"call void @sx_{HASH}()\ncall void @sx_{HASH}()"
    assert replay.normalize(twice) != replay.normalize(twice.replace(HASH, OTHER_HASH, 1))


def test_a_stored_recording_is_read_back(tmp_path: Path) -> None:
    stored = recording({"a": [ADD]}, "1")
    stored.save(tmp_path / "a.json")
    assert replay.Recording.load(tmp_path / "a.json") == stored


def test_the_command_exits_with_the_result(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("a.json", "b.json")]
    recording({"a": [ADD]}).save(Path(paths[0]))
    recording({"a": [MULTIPLY]}).save(Path(paths[1]))
    assert replay.main(["compare", *paths]) == 1
    assert replay.main(["compare", paths[0], paths[0]]) == 0


@pytest.mark.parametrize("words", [[], ["--base", "HEAD", "compare", "a", "b"]])
def test_either_a_command_or_a_base_is_required(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        replay.main(words)


def test_descriptions_of_outputs_are_exact() -> None:
    zero, negative_zero = np.array([0.0, 1.0]), np.array([-0.0, 1.0])
    assert replay.describe([zero]) == replay.describe([zero.copy()])
    assert replay.describe(zero) != replay.describe(negative_zero)
    assert replay.describe({"k": np.array(["a"], object)}) == [("k", ((1,), ["a"]))]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="models are compiled in forked processes")
def test_a_model_is_recorded(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    replay.record(path, SOURCES, Corpus(tmp_path, ["typed"], "quantized_float$"))
    document = json.loads(path.read_text())
    assert set(document["models"]) == {"warm-up", "typed/quantized_float"}
    model = document["models"]["typed/quantized_float"]
    assert model["status"] == "compiled" and model["modules"] and model["outputs"]
    assert all("define" in document["texts"][key] for key in model["modules"])
