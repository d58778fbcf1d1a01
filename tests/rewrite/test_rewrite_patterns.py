"""Patterns: matching of Before texts, and instantiation of After texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from models import only, parse_model
from sardonyx._src.io.text import to_text
from sardonyx._src.ir import Model
from sardonyx._src.ir.verify import verify
from sardonyx._src.rewrite.engine.edit import Edit
from sardonyx._src.rewrite.engine.match import Match, matches
from sardonyx._src.rewrite.engine.matcher import may_match
from sardonyx._src.rewrite.engine.pattern import parse_pattern
from sardonyx._src.rewrite.engine.template import instantiate

READS = {
    ("", name): frozenset(range(1, 30))
    for name in "Add Mul Sub Neg Exp Elu Transpose Identity Split Constant Gemm".split()
}


def find_matches(text: str, graph: str, root: str) -> Iterator[Match]:
    original = parse_model(graph)
    edit = Edit(original)
    edit.supported_versions = READS
    return matches(parse_pattern(text), only(original.graph, root), edit)


def count(text: str, graph: str, root: str) -> int:
    return sum(1 for _ in find_matches(text, graph, root))


def test_a_name_matches_one_value() -> None:
    assert count("y = Sub(x, x)", "g (float[2] a) => (float[] y) { y = Sub(a, a) }", "Sub") == 1
    assert count("y = Sub(x, x)", "g (float[2] a, float[2] b) => (float[] y) { y = Sub(a, b) }", "Sub") == 0


def test_operands_that_commute_are_tried_both_ways() -> None:
    graph = "g (float[2] a) => (float[] y) { n = Neg(a) y = Add(a, n) }"
    assert count("n = Neg(x) y = Add(n, x)", graph, "Add") == 1
    assert count("n = Neg(x) y = Sub(n, x)", graph.replace("Add", "Sub"), "Sub") == 0


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ("e = Exp(a) n = Neg(e) y = Add(a, n)", True),
        ("e = Exp(a) n = Neg(e) y = Add(n, a)", True),
        ("e = Neg(a) n = Neg(e) y = Add(n, a)", False),
        ("n = Neg(a) y = Add(n, a)", False),
        ("e = Exp(a) y = Add(e, a)", False),
    ],
)
def test_a_filter_looks_at_all_operators_above_a_root(graph: str, expected: bool) -> None:
    pattern = parse_pattern("e = Exp(x) n = Neg(e) y = Add(n, z)")
    root = only(parse_model(f"g (float[2] a) => (float[] y) {{ {graph} }}").graph, "Add")
    assert may_match(pattern, pattern.root, root) is expected


def test_a_filter_ignores_numbers_which_are_no_nodes_of_the_model() -> None:
    pattern = parse_pattern("c = Constant<value_float = 2.0>() y = Mul(x, c)")
    graph = "g (float[2] a) => (float[] y) <float c = {2}> { y = Mul(a, c) }"
    assert may_match(pattern, pattern.root, only(parse_model(graph).graph, "Mul"))


def test_a_search_backtracks_over_operand_orders() -> None:
    graph = "g (float[2] a) => (float[] y) { e = Exp(a) n = Neg(a) m = Mul(n, e) y = Add(e, m) }"
    assert count("e = Exp(x) n = Neg(x) m = Mul(e, n) y = Add(m, e)", graph, "Add") == 1


def test_an_attribute_is_bound_by_name_and_equal_wherever_it_recurs() -> None:
    graph = "g (float[2] x) => (float[] y) { a = Elu<alpha = 2.0>(x) y = Elu<alpha = 2.0>(a) }"
    original = parse_model(graph)
    edit = Edit(original)
    edit.supported_versions = READS
    root = original.graph.outputs[0].producer
    assert root is not None
    (match,) = matches(parse_pattern("a = Elu<alpha = @k>(x) y = Elu<alpha = @k>(a)"), root, edit)
    assert match.attribute("k") == 2.0


@pytest.mark.parametrize(("written", "expected"), [("", 1), ("<alpha = 1.0>", 1), ("<alpha = 2.0>", 0)])
def test_an_attribute_that_is_not_written_has_its_default(written: str, expected: int) -> None:
    assert count("y = Elu(x)", f"g (float[2] x) => (float[] y) {{ y = Elu{written}(x) }}", "Elu") == expected


def test_a_constant_of_the_pattern_is_a_number() -> None:
    graph = "g (float[2] x) => (float[] y) <float[1] c = {0.1}> { y = Mul(c, x) }"
    text = "c = Constant<value_float = 0.1>() y = Mul(x, c)"
    assert count(text, graph, "Mul") == 1
    assert count(text, graph.replace("0.1}", "0.2}"), "Mul") == 0
    assert count(text, "g (float[2] x, float[1] c = {0.1}) => (float[] y) { y = Mul(c, x) }", "Mul") == 0


def test_what_others_read_is_not_matched() -> None:
    text = "a = Neg(x) y = Exp(a)"
    assert count(text, "g (float[2] x) => (float[] y) { a = Neg(x) y = Exp(a) }", "Exp") == 1
    assert count(text, "g (float[2] x) => (float[] y, float[] a) { a = Neg(x) y = Exp(a) }", "Exp") == 0
    assert (
        count(text, "g (float[2] x) => (float[] y, float[] z) { a = Neg(x) y = Exp(a) z = Abs(a) }", "Exp")
        == 0
    )


def test_an_input_left_out_is_written_as_one() -> None:
    assert count("y = Gemm(a, b)", "g (float[2,2] a) => (float[] y) { y = Gemm(a, a) }", "Gemm") == 1
    assert count("y = Gemm(a, b)", "g (float[2,2] a) => (float[] y) { y = Gemm(a, a, a) }", "Gemm") == 0


def test_versions_that_were_not_read_are_not_matched() -> None:
    original = parse_model("g (float[2] x) => (float[] y) { y = Exp(x) }")
    edit = Edit(original)
    edit.supported_versions = {("", "Exp"): frozenset({6})}
    assert list(matches(parse_pattern("y = Exp(x)"), only(original.graph, "Exp"), edit)) == []


def replace(
    before: str, after: str, graph: str, root: str, extra: Mapping[str, object]
) -> tuple[bool, Model]:
    original = parse_model(graph)
    edit = Edit(original)
    edit.supported_versions = READS
    match = next(iter(matches(parse_pattern(before), only(original.graph, root), edit)))
    done = instantiate(parse_pattern(after), match, extra)
    verify(original)
    return done, original


def test_constants_and_attributes_of_the_replacement_are_inserted() -> None:
    done, original = replace(
        "y = Neg(x)",
        "a = Elu<alpha = @k>(x) y = Mul(a, c)",
        "g (float[2] x) => (float[] y) { [n] y = Neg(x) }",
        "Neg",
        {"k": 2.0, "c": np.array([3, 4], np.float32)},
    )
    assert done and [n.op_type for n in original.graph.nodes] == ["Elu", "Mul"]
    (weight,) = original.graph.initializers.values()
    assert weight.initializer is not None and weight.initializer.numpy().tolist() == [3, 4]
    assert (
        only(original.graph, "Mul").name == "n"
        and str(only(original.graph, "Elu").outputs[0].type) == "float[2]"
    )


def test_a_result_of_another_rank_is_taken_back() -> None:
    done, original = replace(
        "y = Mul(x, c)",
        "y = Neg(x)",
        "g (float[2] x) => (float[] y) <float[1,1] c = {1}> { y = Mul(x, c) }",
        "Mul",
        {},
    )
    assert not done and [n.op_type for n in original.graph.nodes] == ["Mul"], to_text(original)


def test_several_outputs_live_on_under_their_names() -> None:
    done, original = replace(
        "a, b = Split<num_outputs = 2>(x)",
        "b = Neg(x) a = Exp(x)",
        "g (float[?] x) => (float[] p, float[] q) { p, q = Split<num_outputs = 2>(x) }",
        "Split",
        {},
    )
    assert done and [v.name for v in original.graph.outputs] == ["p", "q"]
    assert [v.producer.op_type for v in original.graph.outputs if v.producer] == ["Exp", "Neg"]


def test_a_constant_with_axes_is_not_matched_where_ranks_are_unknown() -> None:
    text = "c = Constant<value_float = 2.0>() y = Mul(x, c)"
    assert count(text, "g (float[] x) => (float[] y) <float[1] c = {2}> { y = Mul(c, x) }", "Mul") == 0
    assert count(text, "g (float[] x) => (float[] y) <float c = {2}> { y = Mul(c, x) }", "Mul") == 1
