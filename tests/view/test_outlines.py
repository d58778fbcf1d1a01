"""Mermaid and DOT: outlines within what renders, with every text escaped."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import sardonyx as sx
from models import parse_model, parse_record
from sardonyx._src.cli.main import main
from sardonyx._src.errors import InputError
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import encode
from sardonyx._src.proto.text import from_text
from sardonyx._src.view.documents import open_document
from sardonyx._src.view.graph_labels import find_graph
from sardonyx._src.view.outline import outline_of
from sardonyx._src.view.page_data import DocumentData
from sardonyx._src.view.text import dot, mermaid

MODEL = """
    g (float[N,3] x) => (float[N,2] y) <float[3,2] w = {1, 2, 3, 4, 5, 6}> {
        [product] a = MatMul(x, w) y = LeakyRelu<alpha = 0.5>(a)
    }
"""
LAYER = "Gather Unsqueeze MatMul Softmax Add Relu Sigmoid Tanh Erf Exp Neg Abs".split()


def long_document(layers: int, hostile: str = "") -> DocumentData:
    """A chain of equal layers, each of twelve operators and named."""
    nodes = [
        m.NodeProto(op_type=op + hostile, name=f"/layers.{i}/{op}{hostile}", input=[f"v{i * 12 + j}"], output=[f"v{i * 12 + j + 1}"])
        for i in range(layers)
        for j, op in enumerate(LAYER)
    ]  # fmt: skip
    return open_document(m.ModelProto(ir_version=10, graph=m.GraphProto(name="g", node=nodes))).data


def test_a_small_model_in_mermaid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sx.save(parse_model(MODEL), tmp_path / "m.onnx")
    assert main(["show", str(tmp_path / "m.onnx"), "--mermaid"]) == 0
    assert capsys.readouterr().out == (
        "flowchart TD\n"
        '  n0["MatMul<br/>product"]\n'
        '  n1["LeakyRelu"]\n'
        '  i0(["x<br/>float32#91;N, 3#93;"])\n'
        '  o3(["y<br/>float32#91;N, 2#93;"])\n'
        '  n0 -->|"float32#91;N, 2#93;"| n1\n'
        '  i0 -->|"float32#91;N, 3#93;"| n0\n'
        '  n1 -->|"float32#91;N, 2#93;"| o3\n'
    )


def test_a_small_model_in_dot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sx.save(parse_model(MODEL), tmp_path / "m.onnx")
    assert main(["show", str(tmp_path / "m.onnx"), "--dot"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("digraph model {\n") and text.endswith("}\n")
    assert '  n0 [label="MatMul\\nproduct"];\n' in text
    assert '  n0 -> n1 [label="float32[N, 2]"];\n' in text


def test_equal_layers_are_one_box() -> None:
    outline = outline_of(long_document(30), 0, 20)
    assert [box.lines for box in outline.boxes if box.kind == "scope"] == [("layers × 30", "360 nodes")]


@pytest.mark.parametrize("layers", [1, 5, 40, 300])
def test_limits_of_mermaid(layers: int) -> None:
    outline = outline_of(long_document(layers, "é" * 200), 0, mermaid.MAX_BOXES)
    text = mermaid.mermaid(outline)
    assert len([box for box in outline.boxes if box.kind in ("node", "scope")]) <= 60
    assert text.count("-->") <= 500 and len(text) <= 50_000


HOSTILE = 'a"]; click n0 "javascript:alert(1)" %%{init: {}}%% <script> `x` #quot; \\" end\nsubgraph'


def test_texts_are_not_syntax_in_mermaid() -> None:
    text = mermaid.mermaid(outline_of(long_document(2, HOSTILE), 0, 60))
    for line in text.splitlines()[1:]:
        assert re.fullmatch(
            r' *(end|[nsio]\d+\S*?\[+"[^"]*"\]+|subgraph g\d+\["[^"]*"\]|\w+ -->(\|"[^"]*"\|)? \w+)', line
        )
    assert "%%" not in text and "<script" not in text and "`" not in text


def test_texts_are_not_syntax_in_dot() -> None:
    text = dot.dot(outline_of(long_document(2, HOSTILE), 0, 60))
    for line in text.splitlines()[2:]:
        assert re.fullmatch(
            r' *(\}|[nsio]\d+ \[label="([^"\\]|\\.)*".*\];|subgraph cluster_\d+ \{|label="([^"\\]|\\.)*";|\w+ -> \w+;)',
            line,
        )


def test_a_broken_model_has_an_outline() -> None:
    record = parse_record("g (float[2] x) => (float[2] y) { y = Add(z, y) }")
    assert "Add" in mermaid.mermaid(outline_of(open_document(record).data, 0, 60))


NESTED = """
    <opset_import: ["": 21, "local": 1]>
    g (bool c, float[2] x) => (float[2] y) {
        [choice] a = If(c) <then_branch = yes () => (float[2] p) { p = Neg(x) }, else_branch = no () => (float[2] q) { q = Abs(x) }>
        y = local.Activate(a)
    }
    <opset_import: ["": 21], domain: "local">
    Activate (v) => (w) { w = Tanh(v) }
"""


@pytest.mark.parametrize(
    ("name", "operators"),
    [
        ("main", {"If", "Activate"}),
        ("choice.then_branch", {"Neg"}),
        ("else_branch", {"Abs"}),
        ("no", {"Abs"}),
        ("local.Activate", {"Tanh"}),
        ("Activate", {"Tanh"}),
    ],
)
def test_any_graph_has_an_outline(name: str, operators: set[str]) -> None:
    document = open_document(from_text(NESTED, m.ModelProto)).data
    outline = outline_of(document, find_graph(document, name), 60)
    assert {box.lines[0] for box in outline.boxes if box.kind == "node"} == operators


def test_values_that_a_graph_captures_are_its_inputs() -> None:
    document = open_document(from_text(NESTED, m.ModelProto)).data
    outline = outline_of(document, find_graph(document, "then_branch"), 60)
    assert [box.lines for box in outline.boxes if box.kind == "input"] == [("x", "float32[2]")]
    assert len(outline.edges) == 2


@pytest.mark.parametrize("option", ["--mermaid", "--dot"])
def test_the_command_line_prints_the_graph_that_it_names(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "m.onnx").write_bytes(encode(from_text(NESTED, m.ModelProto)))
    assert main(["show", str(tmp_path / "m.onnx"), option, "--graph", "choice.then_branch"]) == 0
    text = capsys.readouterr().out
    assert "Neg" in text and "Abs" not in text and "If" not in text


def test_a_graph_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = open_document(from_text(NESTED, m.ModelProto)).data
    with pytest.raises(InputError, match=r"got 'choice.then_brunch'; did you mean 'choice.then_branch'"):
        find_graph(document, "choice.then_brunch")
    (tmp_path / "m.onnx").write_bytes(encode(from_text(NESTED, m.ModelProto)))
    assert main(["show", str(tmp_path / "m.onnx"), "--graph", "main"]) == 2
    assert "--graph requires --mermaid or --dot" in capsys.readouterr().err
    assert main(["view", str(tmp_path / "m.onnx"), "--json", "--graph", "main"]) == 2


def test_a_name_of_several_graphs_is_refused() -> None:
    branch = "t () => (float[2] p) { p = Neg(x) }"
    record = parse_record(f"""
        g (bool c, float[2] x) => (float[2] a, float[2] b) {{
            [one] a = If(c) <then_branch = {branch}, else_branch = {branch}>
            [two] b = If(c) <then_branch = {branch}, else_branch = {branch}>
        }}
    """)
    with pytest.raises(InputError, match=r"'then_branch' means 2, among them 'one.then_branch'"):
        find_graph(open_document(record).data, "then_branch")
