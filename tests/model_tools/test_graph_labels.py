"""Labels of graphs: what users call a nested graph or a function, in tools and on pages."""

from __future__ import annotations

from pathlib import Path

import pytest

import sardonyx as sx
from complete_model import DATA, DATA_FILE, complete_model
from models import parse_model
from sardonyx._src.proto.binary import encode
from sardonyx._src.tools.graph_labels import find_graph, labeled_graphs
from sardonyx._src.view.graph_labels import graph_labels

MODEL = """
    <ir_version: 10, opset_import: ["": 21, "local": 1]>
    g (bool c, float[2] x) => (float[2] y) {
        [choice] a = If(c) <then_branch = yes () => (p) { p = Neg(x) }, else_branch = no () => (q) {
            q = If(c) <then_branch = deep () => (r) { r = Abs(x) }, else_branch = flat () => (s) { s = Exp(x) }>
        }>
        y = local.Half(a)
    }
    <opset_import: ["": 21], domain: "local">
    Half(v) => (w) { w = LeakyRelu<alpha = 0.5>(v) }
"""


def test_each_graph_has_a_label() -> None:
    labels = [label for label, _ in labeled_graphs(sx.from_text(MODEL))]
    assert labels == [
        "main", "choice.then_branch", "choice.else_branch", "choice.else_branch.q.then_branch",
        "choice.else_branch.q.else_branch", "local.Half",
    ]  # fmt: skip


def test_pages_have_the_same_labels(tmp_path: Path) -> None:
    (tmp_path / DATA_FILE).write_bytes(DATA)
    (tmp_path / "complete.onnx").write_bytes(encode(complete_model()))
    for model in (sx.from_text(MODEL), sx.load(tmp_path / "complete.onnx")):
        (document,) = sx.view(model).data["documents"]
        labels = graph_labels(document)
        assert len(labels) > 5
        assert sorted(label for label, _ in labeled_graphs(model)) == sorted(labels)


def test_an_end_of_a_label_and_a_name_mean_a_graph() -> None:
    model = sx.from_text(MODEL)
    assert find_graph(model, "q.then_branch").name == "deep"
    assert find_graph(model, "flat").name == "flat"
    assert find_graph(model, "local.Half").function is not None
    assert find_graph(model, "main") is model.graph


def test_what_means_several_graphs_is_refused() -> None:
    with pytest.raises(
        sx.InputError, match=r"must mean one graph; 'then_branch' means 2, among them 'choice.then_branch'"
    ):
        find_graph(sx.from_text(MODEL), "then_branch")


def test_a_part_of_another_graph() -> None:
    part = sx.tools.extract(sx.from_text(MODEL), graph="deep")
    assert [node.op_type for node in part.graph.nodes] == ["Abs"]
    assert [str(value.type) for value in part.graph.inputs] == ["float[2]"]
    with pytest.raises(sx.InputError, match=r"got 'depp'; the graphs are 'main'"):
        sx.tools.extract(parse_model("g (float[2] x) => (y) { y = Abs(x) }"), graph="depp")
    with pytest.raises(sx.InputError, match=r"got 'local\.Halv'; did you mean 'local\.Half'"):
        sx.tools.extract(sx.from_text(MODEL), graph="local.Halv")
