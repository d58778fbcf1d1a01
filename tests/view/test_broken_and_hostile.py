"""Broken documents are shown with what is wrong at its place; no text of a model is more than text."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from models import parse_record
from pages import data_of, stub_viewer
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import encode
from sardonyx._src.view.documents import open_document, page_of
from sardonyx._src.view.html import assemble_page
from sardonyx._src.view.page_data import DocumentData, FindingData
from sardonyx._src.view.pages import view

SCRIPT = "</script><script>alert(1)</script><img src=x onerror=alert(1)> <!--<script> &lt; \u2028 ' \" javascript:alert(1)"


@pytest.fixture(autouse=True)
def _viewer(monkeypatch: pytest.MonkeyPatch) -> None:
    stub_viewer(monkeypatch)


def findings(record: m.ModelProto) -> dict[str, FindingData]:
    return {f["code"]: f for f in open_document(record).data["findings"]}


def test_a_finding_is_at_its_node_and_value() -> None:
    record = parse_record(
        'g (float[2] x) => (float[2] y) { a = Neg(x) ["the (odd) \\"name\\"[7]."] y = Add(a, missing) }'
    )
    finding = (
        findings(record)["SX111"] if "SX111" in findings(record) else next(iter(findings(record).values()))
    )
    assert (finding["place"]["graph"], finding["place"]["node"]) == (0, 1)
    document = open_document(record).data
    value = finding["place"]["value"]
    assert document["strings"][document["graphs"][0]["values"]["name"][value]] == "missing"
    assert finding["message"] and finding["clause"] and finding["cure"]


def test_a_finding_inside_a_nested_graph_is_there() -> None:
    record = parse_record("""
        g (bool c, float[2] x) => (float[2] y) {
            y = If(c) <then_branch = t () => (float[2] a) { a = Neg(x) }, else_branch = e () => (float[2] b) { b = Nge(x) }>
        }
    """)
    places = [f["place"] for f in open_document(record).data["findings"]]
    assert {"graph": 2, "node": 0} in [{"graph": p["graph"], "node": p["node"]} for p in places]


def test_a_model_that_cannot_be_built_is_drawn() -> None:
    record = parse_record("g (float[2] x) => (float[2] y) { y = Add(x, y) z = Neg(y) z = Neg(x) }")
    document = open_document(record).data
    graph = document["graphs"][0]
    assert len(graph["nodes"]["operator"]) == 3
    assert [document["strings"][i] for i in graph["values"]["name"]] == ["x", "y", "z", "z"]
    assert any(f["severity"] == "error" for f in document["findings"])


def test_a_model_without_a_graph_is_a_page() -> None:
    document = open_document(m.ModelProto(ir_version=8)).data
    assert document["graphs"][0]["nodes"]["operator"] == [] and document["findings"]


def test_invalid_numbers_are_shown() -> None:
    tensor = m.TensorProto(name="w", dims=[-3, 5], data_type=99)
    attribute = m.AttributeProto(name="a", type=77)
    node = m.NodeProto(op_type="Neg", input=["w"], output=["y"], attribute=[attribute])
    graph = m.GraphProto(name="g", node=[node], initializer=[tensor])
    document = open_document(m.ModelProto(ir_version=8, graph=graph)).data
    assert document["tensors"][0]["type"] == "type 99" and document["tensors"][0]["shape"] == [-3, 5]
    assert document["graphs"][0]["nodes"]["attributes"][0][0]["type"] == "type 77"


def operators(document: DocumentData) -> list[str]:
    """The operators of the main graph, in order."""
    return [document["strings"][i] for i in document["graphs"][0]["nodes"]["operator"]]


def test_a_file_that_does_not_decode_shows_what_it_still_holds(tmp_path: Path) -> None:
    record = parse_record("g (float[2] x) => (float[2] y) { a = Neg(x) b = Abs(a) y = Exp(b) }")
    data = encode(record)
    (tmp_path / "m.onnx").write_bytes(data[: data.index(b"Exp") + 1])
    document = open_document(tmp_path / "m.onnx").data
    assert document["kind"] == "broken" and operators(document) == ["Neg", "Abs", ""]
    (fault,) = document["findings"]
    assert (fault["code"], fault["place"]["graph"], fault["place"]["node"]) == ("SX001", 0, 2)
    assert fault["message"].startswith("byte 2: ") and fault["message"].endswith(" is graph.node[2].op_type")


def test_a_fault_inside_a_node_leaves_the_others() -> None:
    record = parse_record(
        "g (float[2] x) => (float[2] y) { a = Neg(x) b = LeakyRelu <alpha = 0.5> (a) y = Exp(b) }"
    )
    data = encode(record)
    broken = data.replace(b"\x05alpha", b"\x7falpha")  # a name longer than its attribute
    document = open_document(broken).data
    assert operators(document) == ["Neg", "LeakyRelu", "Exp"]
    assert document["strings"][document["graphs"][0]["values"]["type"][0]] == "float32[2]"
    assert [f["place"]["node"] for f in document["findings"]] == [1]


def test_data_that_are_no_model_have_the_finding_alone() -> None:
    document = open_document(b"\x89PNG\r\n\x1a\n" + bytes(40)).data
    assert document["kind"] == "broken" and operators(document) == []
    assert [f["code"] for f in document["findings"]] == ["SX001"]


def test_a_model_that_does_not_decode_is_compared_with_none() -> None:
    data = encode(parse_record("g (float[2] x) => (float[2] y) { a = Neg(x) y = Exp(a) }"))
    difference = view(data[:-30], data).data["difference"]
    assert difference is not None and "does not decode" in difference["summary"][0]


def hostile() -> m.ModelProto:
    """A model whose every text is a script."""
    pairs = [m.StringStringEntryProto(key=SCRIPT, value=SCRIPT)]
    type_ = m.TypeProto(denotation=SCRIPT, opaque_type=m.TypeProtoOpaque(domain=SCRIPT, name=SCRIPT))
    info = m.ValueInfoProto(name=SCRIPT, type=type_, doc_string=SCRIPT, metadata_props=pairs)
    node = m.NodeProto(
        op_type=SCRIPT, domain=SCRIPT, overload=SCRIPT, name=f"/{SCRIPT}/{SCRIPT}/x", input=[SCRIPT], output=[SCRIPT + "2"],
        attribute=[m.AttributeProto(name=SCRIPT, type=3, s=SCRIPT.encode(), doc_string=SCRIPT)], doc_string=SCRIPT, metadata_props=pairs,
    )  # fmt: skip
    text = m.TensorProto(
        name=SCRIPT + "3", dims=[1], data_type=8, string_data=[SCRIPT.encode()], doc_string=SCRIPT
    )
    graph = m.GraphProto(
        name=SCRIPT,
        node=[node] * 3,
        input=[info],
        output=[info],
        initializer=[text],
        doc_string=SCRIPT,
        metadata_props=pairs,
    )
    function = m.FunctionProto(
        name=SCRIPT, domain=SCRIPT, node=[node], input=[SCRIPT], doc_string=SCRIPT, attribute=[SCRIPT]
    )
    imports = [m.OperatorSetIdProto(domain=SCRIPT, version=1)]
    return m.ModelProto(
        ir_version=10, graph=graph, functions=[function], opset_import=imports, producer_name=SCRIPT, doc_string=SCRIPT,
        metadata_props=pairs, domain=SCRIPT,
    )  # fmt: skip


class Elements(HTMLParser):
    """Collects the elements of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)


def test_script_in_any_text_is_inert() -> None:
    data = page_of([open_document(hostile()).data], SCRIPT)
    page = assemble_page(data)
    parser = Elements()
    parser.feed(page)
    assert sorted(parser.elements) == [
        "body", "head", "html", "meta", "meta", "meta", "meta", "script", "script", "style", "title",
    ]  # fmt: skip
    assert page.isascii() and "alert(1)</script>" not in page
    document = data_of(page)["documents"][0]
    assert SCRIPT in document["strings"] and document["documentation"] == SCRIPT


def test_bytes_that_are_not_utf8_make_a_page() -> None:
    record = parse_record("g (float[2] x) => (float[2] y) { y = Neg(x) }")
    assert record.graph is not None
    record.graph.name = "\udc80\udcff"
    assert data_of(assemble_page(page_of([open_document(record).data], "\udc80")))["title"] == "\udc80"
