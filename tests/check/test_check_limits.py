"""Hostile documents: the report is bounded, nothing blocks, and invalid values are refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from check.examples import model
from sardonyx._src.check import check
from sardonyx._src.check.driver.checking import GROUPS
from sardonyx._src.check.engine.walk import MAX_FINDINGS
from sardonyx._src.errors import InvalidModel
from sardonyx._src.proto import messages as m
from sardonyx._src.proto.binary import encode

GRAPH = "g (float[2] x) => (float[2] y) { y = Abs(x) }"


def test_a_check_stops_at_the_limit_of_violations() -> None:
    record = m.ModelProto(
        ir_version=10, graph=m.GraphProto(node=[m.NodeProto() for _ in range(MAX_FINDINGS)])
    )
    *reported, last = check(encode(record)).diagnostics
    assert len(reported) == MAX_FINDINGS
    assert (last.rule, last.severity) == ("SX008", "error")


def test_too_many_notes_leave_a_model_without_error() -> None:
    record = model(GRAPH)
    assert record.graph is not None, "the text has one"
    record.graph.initializer = [
        m.TensorProto(name=f"w{i}", dims=[1], data_type=1, float_data=[float(i)])
        for i in range(MAX_FINDINGS + 5)
    ]
    report = check(record, select=GROUPS)
    assert report.ok
    assert (report.diagnostics[-1].rule, report.diagnostics[-1].severity) == ("SX008", "info")


def test_a_record_with_a_value_of_another_kind_is_refused_with_its_place() -> None:
    record = model(GRAPH)
    assert record.graph is not None, "the text has one"
    record.graph.node[0].set("name", 7)
    with pytest.raises(InvalidModel) as caught:
        check(record)
    assert caught.value.location == "graph.node[0].name"


def test_what_is_set_to_none_counts_as_not_set() -> None:
    record = model(GRAPH)
    assert record.graph is not None, "the text has one"
    record.graph.node[0].set("attribute", None)
    record.graph.set("initializer", None)
    record.graph.input[0].set("doc_string", None)
    assert check(record).diagnostics == ()


def test_a_cycle_through_a_subgraph_is_found() -> None:
    branch = "If <then_branch = t () => (float[2] p) { p = Abs(a) }, else_branch = e () => (float[2] q) { q = Neg(x) }> (c)"
    text = f"g (float[2] x, bool c) => (float[2] y) {{ b = {branch} a = Neg(b) y = Abs(b) }}"
    assert [d.rule for d in check(model(text)).diagnostics] == ["SX112"]


@pytest.mark.parametrize("location", ["pipe", "folder", "null"])
def test_external_data_are_read_from_plain_files_only(location: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "null").symlink_to("/dev/null")
    entries = f'["location": "{location}", "checksum": "00"]'
    (tmp_path / "m.onnx").write_bytes(encode(model(f"g () => (float[2] w) <float[2] w = {entries}> {{}}")))
    codes = {d.rule for d in check(tmp_path / "m.onnx").of("error")}
    assert codes & {"SX350", "SX354"}
