"""Which differences of inputs and outputs break callers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.cli.main import main
from sardonyx._src.tools.diff import diff

TWO = "g (float[N,3] x, int64[K] i) => (float[N,3] y, int64[K] j) { y = Neg(x) j = Neg(i) }"


def breaking(before: str, after: str) -> list[str]:
    """The text of each difference that breaks callers, without the mark."""
    changes = diff(parse_model(before, opset=21), parse_model(after, opset=21))
    assert changes
    return [change.text() for change in changes if change.breaks]


def replaced(old: str, new: str, text: str = TWO) -> list[str]:
    assert old in text
    return breaking(text, text.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("float[N,3] x", "float[4,3] x"),
        ("float[N,3] x", "float[N,4] x"),
        ("float[N,3] x", "float[N,3,1] x"),
        ("float[N,3] x", "float16[N,3] x"),
        ("float[N,3] x", "float[N,N] x"),
        ("int64[K] i", "int64[N] i"),
        ("float[N,3] y", "float[N,M] y"),
        ("float[N,3] y", "float[N,4] y"),
        ("float[N,3] y", "float y"),
        ("float[N,3] y", "double[N,3] y"),
    ],
)
def test_inputs_that_accept_less_and_outputs_that_promise_less(old: str, new: str) -> None:
    assert len(replaced(old, new)) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("float[N,3] x", "float[N,M] x"),
        ("float[N,3] x", "float[?,?] x"),
        ("float[N,3] x", "float[P,3] x"),
        ("int64[K] i", "int64[L] i"),
        ("float[N,3] y", "float[4,3] y"),
        ("float[N,3] y", "float[?,3] y"),
        ("y = Neg(x)", "y = Abs(x)"),
        ("g (", "h ("),
    ],
)
def test_other_differences_break_nothing(old: str, new: str) -> None:
    assert replaced(old, new) == []


def test_a_variable_that_inputs_shared_may_be_split() -> None:
    shared = "g (float[N] x, float[N] i) => (float[N] y) { y = Add(x, i) }"
    assert breaking(shared, shared.replace("float[N] i", "float[M] i")) == []
    assert breaking(shared.replace("float[N] i", "float[M] i"), shared) == [
        "~ input 'i': float[M] -> float[N]"
    ]


def test_removed_renamed_and_reordered() -> None:
    single = "g (float[N,3] x) => (float[N,3] y) { y = Neg(x) }"
    assert breaking(TWO, single) == ["- input 'i': int64[K]", "- output 'j': int64[K]"]
    renamed = TWO.replace("float[N,3] x", "float[N,3] z").replace("Neg(x)", "Neg(z)")
    assert breaking(TWO, renamed) == ["~ name 'x': x -> z"]
    swapped = TWO.replace("float[N,3] y, int64[K] j", "int64[K] j, float[N,3] y")
    assert breaking(TWO, swapped) == ["~ output order: y, j -> j, y"]


def test_added_inputs_and_outputs() -> None:
    single = "g (float[N] x) => (float[N] y) { y = Neg(x) }"
    required = "g (float[N] x, float w) => (float[N] y) { a = Neg(x) y = Mul(a, w) }"
    assert breaking(single, required) == ["+ input 'w': float[]"]
    default = required.replace("(float[N] y) {", "(float[N] y) <float w = {2}> {")
    assert breaking(single, default) == []
    last = "g (float[N] x) => (float[N] y, float[N] z) { y = Neg(x) z = Abs(x) }"
    assert breaking(single, last) == []
    assert breaking(single, last.replace("float[N] y, float[N] z", "float[N] z, float[N] y")) == [
        "+ output 'z': float[N]"
    ]


def test_a_lost_default_breaks_and_a_new_one_does_not() -> None:
    required = "g (float[N] x, float w) => (float[N] y) { y = Mul(x, w) }"
    default = required.replace("(float[N] y) {", "(float[N] y) <float w = {2}> {")
    assert breaking(default, required) == ["- weight 'w': float[]"]
    assert breaking(required, default) == []
    assert breaking(default, default.replace("{2}", "{3}")) == []


def test_inner_graphs_and_functions_break_nothing() -> None:
    text = """g (float[N] x, bool c) => (float[N] y) {
        y = If <then_branch = t () => (float[N] p) { p = Abs(x) }, else_branch = e () => (float[N] q) { q = Neg(x) }> (c) }"""
    assert breaking(text, text.replace("float[N] p", "float[?] p")) == []


def test_types_of_sequences_are_compared() -> None:
    text = "g (seq(float[N]) s) => (seq(float[N]) t) { t = Identity(s) }"
    assert breaking(text, text.replace("seq(float[N]) s", "seq(float[3]) s")) != []
    assert (
        breaking(text, text.replace("seq(float[N]) s", "seq(float) s").replace("float)", "float[?])")) == []
    )
    assert breaking(text, text.replace("seq(float[N]) t", "seq(float[3]) t")) == []


def test_the_command_marks_them_and_has_an_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = {"a": TWO, "b": TWO.replace("float[N,3] x", "float[N,4] x"), "c": TWO.replace("Neg(i)", "Abs(i)")}
    for name, text in texts.items():
        sx.save(parse_model(text, opset=21), tmp_path / f"{name}.onnx")
    a, b, c = (str(tmp_path / f"{name}.onnx") for name in texts)
    assert main(["diff", a, b]) == 3
    assert "~ input 'x': float[N,3] -> float[N,4] (breaks callers)\n" in capsys.readouterr().out
    assert main(["diff", a, b, "--json"]) == 3
    facts = json.loads(capsys.readouterr().out)
    assert facts["breaks"] is True
    assert [change["breaks"] for change in facts["changes"] if change["kind"] == "input"] == [True]
    assert main(["diff", a, c]) == 1
    assert "breaks callers" not in capsys.readouterr().out
    assert main(["diff", a, c, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["breaks"] is False
    assert main(["diff", a, b, "--ignore", "input"]) == 0


def test_an_output_that_another_node_computes_is_the_same_output() -> None:
    text = "g (float[N] x) => (float[N] y) { a = Neg(x) y = Abs(a) }"
    changes = diff(parse_model(text), parse_model("g (float[N] x) => (float[N] y) { y = Neg(x) b = Abs(y) }"))
    assert [str(c) for c in changes if "output" in c.place or c.kind == "output"] == [
        "~ edge output 'y': Abs of 'y' -> Neg of 'y'"
    ]
    assert not any(c.breaks for c in changes)
