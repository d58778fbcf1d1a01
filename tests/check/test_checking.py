"""The engine: locations, order, suppression, IR versions, and documents that do not decode."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import sardonyx as sx
from check.examples import model
from sardonyx._src.check import Diagnostic, check
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import encode
from sardonyx._src.proto.text import from_text


def diagnose(text: str, **options: object) -> list[str]:
    return [f"{d.rule} {d.location}" for d in check(model(text), **options).diagnostics]  # type: ignore[arg-type]


def only_diagnostic(text: str) -> Diagnostic:
    (diagnostic,) = check(model(text)).diagnostics
    return diagnostic


def test_a_location_includes_names() -> None:
    text = "g (float[2] x) => (float[2] y) { a = Abs(x) [stem] y = Add(a, z) }"
    diagnostic = only_diagnostic(text)
    assert diagnostic.location == 'graph.node[1] "stem" (Add).input[1]'
    assert str(diagnostic).startswith('graph.node[1] "stem" (Add).input[1]: error: SX113 value-undefined: ')


def test_a_location_leads_into_subgraphs_and_functions() -> None:
    branch = "If <then_branch = t () => (float[2] p) { p = Abs(z) }, else_branch = e () => (float[2] q) { q = Neg(x) }> (c)"
    assert diagnose(f"g (float[2] x, bool c) => (float[2] y) {{ y = {branch} }}") == [
        'SX113 graph.node[0] (If).attribute[0] "then_branch".g.node[0] (Abs).input[0]'
    ]
    text = """<opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F(x) }
        <domain: "com.example", opset_import: ["": 21]> F (v) => (w) { w = Abs(u) }"""
    assert diagnose(text) == ['SX113 functions[0] "F".node[0] (Abs).input[0]']


def test_all_violations_are_reported_in_the_order_of_the_document() -> None:
    text = "g (float[2] x, float[-1] x) => (float[2] y) { y = Abz(x) y = Add(x) }"
    assert diagnose(text) == [
        "SX201 graph.node[0] (Abz)",
        "SX204 graph.node[1] (Add).input",
        "SX110 graph.node[1] (Add).output[0]",
        'SX101 graph.input[1] "x".name',
        'SX134 graph.input[1] "x".type.tensor_type.shape.dim[0].dim_value',
    ]


def test_an_undefined_name_is_reported_once() -> None:
    assert diagnose("g (float[2] x) => (float[2] y) { a = Abs(z) b = Neg(z) y = Add(a, z) }") == [
        "SX113 graph.node[0] (Abs).input[0]"
    ]


def test_a_near_name_is_suggested() -> None:
    assert (
        "did you mean 'weights'?"
        in only_diagnostic("g (float[2] weights) => (float[2] y) { y = Abs(weight) }").message
    )


def test_a_cycle_is_one_violation() -> None:
    text = "g (float[2] x) => (float[2] y) { a = Add(x, d) b = Add(a, e) c = Abs(b) d = Neg(c) e = Neg(d) y = Abs(e) }"
    assert diagnose(text) == ["SX112 graph.node[0] (Add)"]


def test_a_feature_that_a_version_lacks_suppresses_findings_inside() -> None:
    text = """<ir_version: 7, opset_import: ["": 15, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F(x) }
        <domain: "com.example"> F (v) => (w) { w = Abs(u) }"""
    assert diagnose(text) == ['SX055 functions[0] "F"']


def test_the_imports_of_a_function_bind_its_nodes() -> None:
    text = """<opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F(x) }
        <domain: "com.example", opset_import: ["": 6]> F (v) => (w) { w = Gelu(v) }"""
    assert diagnose(text) == ['SX201 functions[0] "F".node[0] (Gelu)']


def test_models_before_ir_3_mean_version_1_of_the_deviolation_set() -> None:
    text = """{ir_version: 2, domain: "com.example", producer_name: "p", producer_version: "1",
        graph: g (float[2] x) => (float[2] y) { y = Gelu(x) }}"""
    assert diagnose(text) == ["SX201 graph.node[0] (Gelu)"]


def test_an_algorithm_sees_the_inference_graph_but_not_the_other_way_round() -> None:
    text = """<training_info: [{algorithm: a () => (float[2] n) { n = Neg(w) }, update_binding: ["w": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, n) }"""
    assert diagnose(text) == ["SX113 graph.node[0] (Add).input[1]"]


def test_select_and_ignore_take_codes_prefixes_and_names() -> None:
    text = "g (float[2] x) => (float[2] y) { y = Abz(z) }"
    assert diagnose(text, select=["SX2"]) == ["SX201 graph.node[0] (Abz)"]
    assert diagnose(text, ignore=["value-undefined"]) == ["SX201 graph.node[0] (Abz)"]
    with pytest.raises(sx.InputError, match="'SX9999' must be a rule"):
        check(model(text), select=["SX9999"])


def test_bytes_that_do_not_decode_are_one_diagnostic() -> None:
    (diagnostic,) = check(encode(model("g (float[2] x) => (float[2] y) { y = Abs(x) }"))[:-3]).diagnostics
    assert (diagnostic.rule, diagnostic.severity) == ("SX001", "error")
    assert diagnostic.location.startswith("byte ") and "graph" not in diagnostic.message


def test_a_limit_is_one_diagnostic() -> None:
    (diagnostic,) = check(b"\x08\x0a", limits=sx.Limits(size=1)).diagnostics
    assert diagnostic.rule == "SX008"


@pytest.mark.parametrize("kind", ["bytes", "file", "path", "record", "model"])
def test_every_source_is_checked(kind: str, tmp_path: Path) -> None:
    record = model("g (float[2] x) => (float[2] y) { y = Softmax <axes = 0> (x) }")
    path = tmp_path / "m.onnx"
    path.write_bytes(encode(record))
    sources = {
        "bytes": encode(record),
        "file": io.BytesIO(encode(record)),
        "path": path,
        "record": record,
        "model": sx.load(record),
    }
    assert [d.rule for d in check(sources[kind]).diagnostics if d.severity == "error"] == ["SX211"]  # type: ignore[arg-type]


def test_an_operator_set_document_is_recognized_by_its_magic() -> None:
    document = m.OperatorSetProto(magic="ONNXOPSET", ir_version=10, domain="custom", opset_version=1)
    assert [d.rule for d in check(encode(document), select=["style"]).diagnostics] == ["SX607"]


def test_an_operator_set_document_declares_operators() -> None:
    text = (
        '<opset_import: ["": 21, "com.example": 1]> g (float[2] x) => (float[2] y) { y = com.example.F(x) }'
    )
    document = """{magic: "ONNXOPSET", ir_version: 10, domain: "com.example", opset_version: 1,
        operator: [{op_type: "F", since_version: 1}]}"""
    assert diagnose(text) == ["SX202 graph.node[0] (F)"]
    assert diagnose(text, operator_sets=[encode(from_text(document, m.OperatorSetProto))]) == []


def test_a_file_that_is_not_there_is_the_callers_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        check(tmp_path / "none.onnx")


def test_wrong_names_by_the_thousand_do_not_take_forever() -> None:
    nodes = " ".join(f"a{i} = Abs(b{i})" for i in range(3000))
    assert len(diagnose(f"g (float[2] x) => (float[2] a0) {{ {nodes} }}")) == 3000


def test_a_further_version_of_an_operator_in_a_document_is_an_info() -> None:
    """IR.md wants one entry of each name, onnx-operators.proto one of each name and version."""
    operators = [m.OperatorProto(op_type="F", since_version=version) for version in (1, 2)]
    document = m.OperatorSetProto(magic="ONNXOPSET", ir_version=10, domain="com.example", opset_version=3)
    document.operator = operators
    (diagnostic,) = check(encode(document), kind="operator-set").diagnostics
    assert (diagnostic.rule, diagnostic.severity, diagnostic.location) == ("SX606", "info", "operator[1]")
