"""What notebooks show of models, reports and sessions: short, static, escaped."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model, parse_record
from sardonyx._src.measure.compare.models import compare

MODEL = """
    g (float[N,3] x) => (float[N,2] y) <float[3,2] w = {1, 2, 3, 4, 5, 6}> {
        [product] a = MatMul(x, w) y = LeakyRelu<alpha = 0.5>(a)
    }
"""
SCRIPT = "<script>alert('\"&')</script>"
TAGS = {"p", "b", "table", "tr", "th", "td", "details", "summary"}


class Reader(HTMLParser):
    """Collects elements and text, and checks that elements nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.stack: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not attrs, "tables have no attributes"
        self.tags.add(tag)
        self.stack.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data + "|"


def shown(value: object) -> str:
    """The text of an object in a notebook."""
    reader = Reader(value._repr_html_())  # type: ignore[attr-defined]
    assert reader.tags <= TAGS and not reader.stack
    return reader.text


def test_a_model() -> None:
    text = shown(parse_model(MODEL))
    assert "Model g|" in text and "ai.onnx 21|" in text
    assert "input|x|float[N,3]|" in text and "output|y|float[N,2]|" in text
    assert "2 nodes|" in text and "MatMul|product|x, w|a|" in text


def test_graphs_nodes_and_functions() -> None:
    model = parse_model(
        MODEL.replace("LeakyRelu<alpha = 0.5>(a)", "my.Twice(a)")
        + '<domain: "my", opset_import: ["": 21]> Twice <alpha: float = 2.0, beta> (v) => (z) { z = Add(v, v) }',
        more='"my": 1',
    )
    assert "Graph g|" in shown(model.graph)
    assert "Node product (MatMul)|" in shown(model.graph.nodes[0])
    assert "Node  (my.Twice)|" in shown(model.graph.nodes[1])
    function = shown(next(iter(model.functions.values())))
    assert "Function my.Twice|" in function and "alpha|2.0|" in function and "beta|required|" in function


def test_a_report_names_place_and_cure() -> None:
    report = sx.check(parse_record("g (float[2] x) => (float[2] y) { y = Add(x, missing) }"))
    assert "Report: errors|" in shown(report)
    assert "graph.node[0]" in shown(report)
    assert shown(sx.check(parse_model(MODEL))).startswith("Report: no errors|")


def test_sessions_plans_and_comparisons() -> None:
    session = sx.Session(parse_model(MODEL), engine="reference")
    assert shown(session).startswith("Session, engine reference|")
    comparison = compare(parse_model(MODEL), None, {"x": np.ones((1, 3), np.float32)}, engine="reference")
    assert "1 of 1 agree" in shown(comparison)


@pytest.mark.native
def test_a_memory_plan() -> None:
    plan = sx.Session(parse_model(MODEL), engine="native").plan({"N": 4})
    assert "Memory of a run, in bytes|" in shown(plan) and "weights|" in shown(plan)


def test_a_difference() -> None:
    (difference,) = sx.tools.diff(parse_model(MODEL), parse_model(MODEL.replace("0.5", "0.25")))
    assert shown(difference) == "attribute LeakyRelu of 'y' alpha: changed|before|0.5|after|0.25|"


def test_script_is_text() -> None:
    model = parse_model(MODEL)
    model.doc = model.graph.name = model.producer_name = SCRIPT
    model.metadata = {SCRIPT: SCRIPT}
    model.graph.nodes[0].name = SCRIPT
    for value in (model, model.graph, model.graph.nodes[0]):
        html = value._repr_html_()
        assert "<script" not in html and "alert(" in Reader(html).text


def test_long_tables_are_cut() -> None:
    lines = " ".join(f"v{i + 1} = Neg(v{i})" for i in range(30))
    text = shown(parse_model(f"g (float[2] v0) => (float[2] v30) {{ {lines} }}"))
    assert "30 nodes|" in text and "10 more|" in text and "v21" not in text
