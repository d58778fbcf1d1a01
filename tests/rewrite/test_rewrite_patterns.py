"""Patterns: what a Before text finds, and what an After text puts there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pytest

from models import model, only
from sardonyx._src.io.text import to_text
from sardonyx._src.ir.graph import Model
from sardonyx._src.ir.verify import verify
from sardonyx._src.rewrite.edit import Edit
from sardonyx._src.rewrite.match import Match, matches
from sardonyx._src.rewrite.pattern import parsed
from sardonyx._src.rewrite.template import put

READS = {
    ("", name): frozenset(range(1, 30))
    for name in "Add Mul Sub Neg Exp Elu Transpose Identity Split Constant Gemm".split()
}


def found(text: str, graph: str, root: str) -> Iterator[Match]:
    one = model(graph)
    edit = Edit(one)
    edit.reads = READS
    return matches(parsed(text), only(one.graph, root), edit)


def count(text: str, graph: str, root: str) -> int:
    return sum(1 for _ in found(text, graph, root))


def test_a_name_stands_for_one_value() -> None:
    assert count("y = Sub(x, x)", "g (float[2] a) => (float[] y) { y = Sub(a, a) }", "Sub") == 1
    assert count("y = Sub(x, x)", "g (float[2] a, float[2] b) => (float[] y) { y = Sub(a, b) }", "Sub") == 0


def test_operands_that_commute_are_tried_both_ways() -> None:
    graph = "g (float[2] a) => (float[] y) { n = Neg(a) y = Add(a, n) }"
    assert count("n = Neg(x) y = Add(n, x)", graph, "Add") == 1
    assert count("n = Neg(x) y = Sub(n, x)", graph.replace("Add", "Sub"), "Sub") == 0


def test_a_search_goes_back_when_an_order_leads_nowhere() -> None:
    graph = "g (float[2] a) => (float[] y) { e = Exp(a) n = Neg(a) m = Mul(n, e) y = Add(e, m) }"
    assert count("e = Exp(x) n = Neg(x) m = Mul(e, n) y = Add(m, e)", graph, "Add") == 1


def test_an_attribute_is_bound_by_name_and_equal_wherever_it_stands_again() -> None:
    graph = "g (float[2] x) => (float[] y) { a = Elu<alpha = 2.0>(x) y = Elu<alpha = 2.0>(a) }"
    one = model(graph)
    edit = Edit(one)
    edit.reads = READS
    root = one.graph.outputs[0].producer
    assert root is not None
    (match,) = matches(parsed("a = Elu<alpha = @k>(x) y = Elu<alpha = @k>(a)"), root, edit)
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
    one = model("g (float[2] x) => (float[] y) { y = Exp(x) }")
    edit = Edit(one)
    edit.reads = {("", "Exp"): frozenset({6})}
    assert list(matches(parsed("y = Exp(x)"), only(one.graph, "Exp"), edit)) == []


def replaced(
    before: str, after: str, graph: str, root: str, extra: Mapping[str, object]
) -> tuple[bool, Model]:
    one = model(graph)
    edit = Edit(one)
    edit.reads = READS
    match = next(iter(matches(parsed(before), only(one.graph, root), edit)))
    done = put(parsed(after), match, extra)
    verify(one)
    return done, one


def test_constants_and_attributes_that_the_function_gives_are_put_in() -> None:
    done, one = replaced(
        "y = Neg(x)",
        "a = Elu<alpha = @k>(x) y = Mul(a, c)",
        "g (float[2] x) => (float[] y) { [n] y = Neg(x) }",
        "Neg",
        {"k": 2.0, "c": np.array([3, 4], np.float32)},
    )
    assert done and [n.op_type for n in one.graph.nodes] == ["Elu", "Mul"]
    (weight,) = one.graph.initializers.values()
    assert weight.initializer is not None and weight.initializer.numpy().tolist() == [3, 4]
    assert only(one.graph, "Mul").name == "n" and str(only(one.graph, "Elu").outputs[0].type) == "float[2]"


def test_a_result_of_another_rank_is_taken_back() -> None:
    done, one = replaced(
        "y = Mul(x, c)",
        "y = Neg(x)",
        "g (float[2] x) => (float[] y) <float[1,1] c = {1}> { y = Mul(x, c) }",
        "Mul",
        {},
    )
    assert not done and [n.op_type for n in one.graph.nodes] == ["Mul"], to_text(one)


def test_several_outputs_live_on_under_their_names() -> None:
    done, one = replaced(
        "a, b = Split<num_outputs = 2>(x)",
        "b = Neg(x) a = Exp(x)",
        "g (float[?] x) => (float[] p, float[] q) { p, q = Split<num_outputs = 2>(x) }",
        "Split",
        {},
    )
    assert done and [v.name for v in one.graph.outputs] == ["p", "q"]
    assert [v.producer.op_type for v in one.graph.outputs if v.producer] == ["Exp", "Neg"]


def test_a_constant_with_axes_is_not_matched_where_ranks_are_unknown() -> None:
    text = "c = Constant<value_float = 2.0>() y = Mul(x, c)"
    assert count(text, "g (float[] x) => (float[] y) <float[1] c = {2}> { y = Mul(c, x) }", "Mul") == 0
    assert count(text, "g (float[] x) => (float[] y) <float c = {2}> { y = Mul(c, x) }", "Mul") == 1
