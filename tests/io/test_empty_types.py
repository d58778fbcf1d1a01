"""An empty type (`type {}`) of an input or output of a nested graph, as exporters write it, is no type at all."""

from __future__ import annotations

import numpy as np
import pytest

import sardonyx as sx
from models import parse_record
from sardonyx._src.proto import messages as m
from sardonyx._src.runtime.session.session import Engine

IF = """g (float[N] x, bool c) => (float[N] y) {
    y = If <then_branch = t () => (float[N] p) { p = Abs(x) }, else_branch = e () => (float[N] q) { q = Neg(x) }> (c) }"""
LOOP = """g (float[N] x, bool c) => (float[N] y, float[?,N] z) <int64 n = {2}> {
    y, z = Loop <body = b (int64 i, bool k, float[N] v) => (bool ko, float[N] w, float[N] s)
        { ko = Identity(k) w = Add(v, x) s = Neg(w) }> (n, c, x) }"""


def without_types(text: str) -> m.ModelProto:
    """The record of a model whose nested graphs have empty types."""
    record = parse_record(text)
    assert record.graph is not None
    for attribute in record.graph.node[0].attribute:
        if attribute.g is not None:
            for value in (*attribute.g.input, *attribute.g.output):
                value.type = m.TypeProto()
    return record


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("text", [IF, LOOP], ids=["If", "Loop"])
def test_a_model_with_empty_types_in_nested_graphs_runs(engine: Engine, text: str) -> None:
    feeds = {"x": np.array([1, -2], np.float32), "c": np.array(True)}
    expected = sx.Session(sx.load(parse_record(text)), engine=engine).run(feeds)
    actual = sx.Session(sx.load(without_types(text)), engine=engine).run(feeds)
    for name, value in expected.items():
        np.testing.assert_array_equal(np.asarray(actual[name]), np.asarray(value))


@pytest.mark.parametrize("text", [IF, LOOP], ids=["If", "Loop"])
def test_the_checker_only_warns(text: str) -> None:
    report = sx.check(without_types(text), strict=True)
    assert report.ok
    assert {d.rule for d in report.of("warning") if "type" in d.location} == {"SX365"}


def test_the_type_of_a_main_output_stays_required() -> None:
    record = parse_record(IF)
    assert record.graph is not None
    record.graph.output[0].type = m.TypeProto()
    assert [d.rule for d in sx.check(record).of("error")] == ["SX365"]
