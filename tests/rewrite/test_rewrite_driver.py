"""The driver: budgets, order and fixpoints; and what every edit preserves."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import sardonyx as sx
from models import parse_model
from rewrite.rewriting import assert_becomes, edits
from sardonyx._src.errors import InputError
from sardonyx._src.ir import Node, Value
from sardonyx._src.ir.devices import NodeDeviceConfiguration, ShardingSpec
from sardonyx._src.ir.verify import verify
from sardonyx._src.rewrite.engine import driver
from sardonyx._src.rewrite.engine.driver import Budget
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.engine.pattern import parse_pattern
from sardonyx._src.rewrite.optimize import run_passes
from sardonyx._src.rewrite.pages import page, passes, select_passes

CHAIN = "g (float[2] x) => (float[2] y) { a = Identity(x) b = Identity(a) c = Identity(b) y = Neg(c) }"
MIXED = """g (float[N,6] x) => (float[] y) <int64[2] k = {3, 2}, int64[1] o = {0}, float one = {1}> {
    s = Shape(x) n = Gather(s, o) t = Concat<axis = 0>(n, k) r = Reshape(x, t) i = Identity(r)
    e = Exp(i) f = Exp(i) g = Add(e, f) h = Mul(g, one) p = Transpose<perm = [0, 2, 1]>(h) y = Transpose<perm = [0, 2, 1]>(p)
}"""


def test_it_stops_after_n_edits() -> None:
    for count in range(4):
        optimization = sx.tools.optimize_with_report(parse_model(CHAIN), stop_after=count)
        result, report = optimization.model, optimization.report
        verify(result)
        assert len(result.graph.nodes) == 4 - count and len(report.edits) == count
        assert report.stopped == f"after {count} edits"


def test_it_stops_when_time_is_up() -> None:
    optimization = sx.tools.optimize_with_report(parse_model(CHAIN), seconds=0.0)
    result, report = optimization.model, optimization.report
    assert len(result.graph.nodes) == 4 and report.stopped == "after 0.0 seconds"


def test_every_number_of_edits_leaves_a_model_with_the_same_results() -> None:
    total = len(edits(MIXED))
    assert total >= 8
    for count in range(total + 1):
        report = sx.tools.optimize_with_report(
            parse_model(MIXED), stop_after=count, verify=True, debug=True
        ).report
        assert report.proved == 4


def test_a_second_run_finds_nothing() -> None:
    once = sx.optimize(parse_model(MIXED))
    report = sx.tools.optimize_with_report(once).report
    assert report.edits == [] and [n.op_type for n in once.graph.nodes] == ["Reshape", "Exp", "Add"]


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_passes_does_not_matter(seed: int) -> None:
    shuffled = select_passes(None, ())
    random.Random(seed).shuffle(shuffled)
    result = run_passes(parse_model(MIXED), shuffled, Budget(), sx.OptimizationReport())
    assert [n.op_type for n in result.graph.nodes] == ["Reshape", "Exp", "Add"]


def test_names_docs_and_metadata_live_on() -> None:
    original = parse_model("g (float[2] x) => (float[2] y) { [n] a = Neg(x) [i] y = Identity(a) }")
    first = next(iter(original.graph.nodes))
    first.doc, first.metadata["k"], original.doc, original.metadata["m"] = "why", "v", "model", "n"
    result = sx.optimize(original)
    (node,) = result.graph.nodes
    assert (node.name, node.doc, dict(node.metadata)) == ("n", "why", {"k": "v"})
    assert (result.doc, result.metadata, result.graph.outputs[0].name) == ("model", {"m": "n"}, "y")


def test_declared_types_stay_what_the_file_declares() -> None:
    original = parse_model("g (float[N,2] x) => (float[?,2] y) <float[M,2] a> { a = Neg(x) y = Abs(a) }")
    result = sx.optimize(original)
    inner = next(iter(result.graph.nodes)).outputs[0]
    assert str(inner.type) == "float[M,2]" and str(result.graph.outputs[0].type) == "float[?,2]"


def test_nodes_that_are_spread_over_devices_are_left_alone() -> None:
    original = parse_model(CHAIN, ir=11)
    nodes = list(original.graph.nodes)
    nodes[1].device_configurations = [NodeDeviceConfiguration("d", [ShardingSpec(nodes[1].inputs[0] or "")])]
    result = sx.optimize(original)
    assert [n.name or n.op_type for n in result.graph.nodes].count("Identity") >= 1
    remaining = next(n for n in result.graph.nodes if n.device_configurations)
    assert remaining.device_configurations[0].sharding_spec[0].tensor in remaining.inputs


def test_a_pass_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'drop-identity'"):
        sx.optimize(parse_model(CHAIN), passes=["drop-identities"])
    assert edits(CHAIN, "fold-shapes") == []


def test_twenty_thousand_nodes_are_no_problem() -> None:
    original = parse_model("g (float[2] x) => (float[2] y) { y = Neg(x) }")
    value = original.graph.inputs[0]
    for i in range(20_000):
        op = ("Identity", "Neg", "Exp")[i % 3]
        value = original.graph.append(Node(op, [value], [Value(f"v{i}")])).outputs[0]
    original.graph.append(Node("Add", [value, original.graph.outputs[0]], [Value("z")]))
    original.graph.outputs = [list(original.graph.nodes)[-1].outputs[0]]
    result = sx.optimize(original)
    assert {n.op_type for n in result.graph.nodes} == {"Neg", "Exp", "Add"}


@pytest.mark.parametrize("name", list(passes()))
def test_every_pass_has_a_page(name: str) -> None:
    result = page(name)
    assert result.title and result.keeps and result.after and result.before
    if passes()[name].kind == "pattern":
        after = parse_pattern(result.after)
        for text in result.before:
            before = parse_pattern(text)
            known = before.operators() | after.operators()
            assert known <= result.versions.keys(), (
                f"{name} must list the versions of {known} that it supports"
            )
            assert set(before.root.outputs) <= set(after.producers), (
                f"{name}: After makes not all of Before's results"
            )


@pytest.mark.parametrize("name", [n for n, p in passes().items() if p.kind != "pattern"])
def test_the_example_of_a_page_is_what_the_pass_does(name: str) -> None:
    result = page(name)
    (before,) = result.before
    newest = max((min(versions) for versions in result.versions.values()), default=0)
    assert_becomes(before, result.after, name, opset=max(21, newest), more='"my": 1, "ai.onnx.ml": 4')


def test_passes_that_undo_each_other_come_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def swap(node: Node, edit: Edit) -> bool:
        return edit.replace(node, "Abs" if node.op_type == "Neg" else "Neg", node.inputs)

    endless = replace(passes()["drop-identity"], on_node=swap, roots=())
    monkeypatch.setattr(driver, "find", lambda name: endless)
    monkeypatch.setattr(driver, "root_operators", lambda name: ())
    original = parse_model("g (float[2] x) => (float[2] y) { y = Neg(x) }")
    report = sx.tools.optimize_with_report(original, passes=["drop-identity"]).report
    assert "passes undo each other" in report.stopped
