"""Type rules: findings, their locations and number, and models without findings."""

from __future__ import annotations

import pytest

from check.examples import model
from check.type_pairs import PAIRS, REFUSED, VALID
from sardonyx._src.check import check
from sardonyx._src.check.type_rules.equations import Equations
from sardonyx._src.ir.dims import symbol

FUNCTION = '<domain: "com.example", opset_import: ["": 21]>'
IMPORTS = '<opset_import: ["": 21, "com.example": 1]>'
N, M = symbol("N"), symbol("M")


def diagnose(text: str, **options: object) -> list[str]:
    """Rule and location of diagnostics other than advice."""
    diagnostics = check(model(text), **options).diagnostics  # type: ignore[arg-type]
    return [f"{d.rule} {d.location}" for d in diagnostics if d.severity != "info"]


def codes(text: str) -> list[str]:
    return [fault.split()[0] for fault in diagnose(text)]


@pytest.mark.parametrize(
    ("code", "bad", "good"), [(c, *pair) for c, pairs in PAIRS.items() for pair in pairs]
)
def test_a_violation_is_reported_once_and_its_twin_is_clean(code: str, bad: str, good: str) -> None:
    assert (codes(bad), codes(good)) == ([code], [])


@pytest.mark.parametrize("text", REFUSED)
def test_what_an_operator_refuses_is_one_error(text: str) -> None:
    assert len(codes(text)) == 1


@pytest.mark.parametrize("text", VALID)
def test_a_valid_model_has_no_violation(text: str) -> None:
    assert diagnose(text) == []


def test_a_location_leads_into_subgraphs() -> None:
    text = """g (float[2] x, float[3] z, bool c) => (float[N] y) {
        y = If <then_branch = t () => (float[N] p) { p = Add(x, z) }, else_branch = e () => (float[2] q) { q = Neg(x) }> (c) }"""
    assert diagnose(text) == ['SX707 graph.node[0] (If).attribute[0] "then_branch".g.node[0] (Add)']


def test_a_location_leads_into_training_graphs() -> None:
    text = """<training_info: [{algorithm: a (float[3] k) => (float[2] n) { i = Abs(w) n = Add(i, k) }, update_binding: ["w": "n"]}]>
        g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }"""
    assert diagnose(text) == ["SX707 training_info[0].algorithm.node[1] (Add)"]


def test_a_violation_in_a_function_is_reported_once_with_the_types_of_the_call() -> None:
    text = f"""{IMPORTS} g (string[2] x) => (string[2] y) {{ a = com.example.F(x) y = com.example.F(a) }}
        {FUNCTION} F (v) => (w) {{ w = Abs(v) }}"""
    (diagnostic,) = check(model(text)).of("error")
    assert (diagnostic.rule, diagnostic.location) == ("SX703", 'functions[0] "F".node[0] (Abs).input[0]')
    assert diagnostic.message.endswith(", in a call with (string[2])")


def test_a_function_is_checked_for_each_call() -> None:
    text = f"""{IMPORTS} g (float[2] x, string[2] s) => (float[2] y, string[2] z) {{ y = com.example.F(x) z = com.example.F(s) }}
        {FUNCTION} F (v) => (w) {{ w = Neg(v) }}"""
    assert diagnose(text) == ['SX703 functions[0] "F".node[0] (Neg).input[0]']


def test_an_unused_function_is_not_typed() -> None:
    text = f"""{IMPORTS} g (float[2] x) => (float[2] y) {{ y = Abs(x) }}
        {FUNCTION} F (v) => (w) {{ a = Constant <value_int = 1> () b = Constant <value_float = 1.0> () w = Add(a, b) }}"""
    assert diagnose(text) == []


def test_consequences_of_a_violation_are_not_reported() -> None:
    text = """g (float[2] x, int64[2] z) => (float[3] y) {
        a = Add(x, z) b = Mul(a, x) c = MatMul(b, z) y = Concat <axis = 0> (c, x) }"""
    assert (
        diagnose(text)
        == [
            "SX704 graph.node[0] (Add).input[1]",
            "SX704 graph.node[2] (MatMul).input[1]",
            "SX701 graph.node[3] (Concat).output[0]",
        ][:2]
    )


def test_a_broken_node_keeps_its_results_unknown_and_others_from_nothing() -> None:
    text = "g (float[2] x) => (int64[2] y, int64[2] z) { a = Abz(x) y = Abs(x) z = Abs(a) }"
    assert diagnose(text) == ["SX201 graph.node[0] (Abz)", "SX701 graph.node[1] (Abs).output[0]"]


def test_types_are_not_inferred_where_a_graph_is_broken() -> None:
    text = "g (float[2] x, float[-1] z) => (int64[2] y) { y = Abs(x) }"
    assert [code for code in codes(text) if code[:3] == "SX7"] == []


def test_violations_outside_of_graphs_do_not_prevent_inference() -> None:
    text = '<metadata_props: ["com.example.a": "1", "com.example.a": "2"]> g (float[2] x) => (int64[2] y) { y = Abs(x) }'
    assert sorted(codes(text)) == ["SX020", "SX701"]


def test_no_graph_is_built_when_no_chosen_rule_needs_types(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the model was built")

    monkeypatch.setattr("sardonyx._src.io.serde.from_proto.model", refuse)
    assert diagnose("g (float[2] x) => (int64[2] y) { y = Abs(x) }", select=["SX1"]) == []


def test_variables_are_per_declaration_up_to_ir_3() -> None:
    text = 'opset_import: ["": 8]> g (float[2] x, float[3] z) => (float[N] y, float[N] w) { y = Abs(x) w = Abs(z) }'
    assert codes(f"<ir_version: 3, {text}") == []
    assert codes(f"<ir_version: 4, {text}") == ["SX702"]


def test_siblings_may_give_a_variable_different_sizes() -> None:
    text = """g (float[2] x, bool c) => (float[K] y) {
        y = If <then_branch = t () => (float[N] p) { p = Abs(x) }, else_branch = e () => (float[N] q) { q = Concat <axis = 0> (x, x) }> (c) }"""
    assert codes(text) == []
    assert codes(
        text.replace("float[2] x,", "float[2] x, float[N] n,")
        .replace("[K] y)", "[K] y, float[N] m)")
        .replace("> (c)", "> (c) m = Concat <axis = 0> (x, x)")
    ) == ["SX702"]


@pytest.mark.parametrize(
    ("pairs", "holds"),
    [
        ([(N, 2), (N, 2)], True),
        ([(N, 2), (N, 3)], False),
        ([(N, N + 1)], False),
        ([(N + 3, 2)], False),
        ([(2 * N, 3)], False),
        ([(2 * N, 4), (N, 2)], True),
        ([(N, M), (M, 3), (N, 4)], False),
        ([(N, M + 1), (M, 3), (N, 4)], True),
        ([(N, 2 * N)], True),
        ([(N * M, 6), (N, 2), (M, 4)], True),
        ([(N, None), (N, 3)], True),
    ],
)
def test_equations_hold_unless_no_sizes_satisfy_them(pairs: list[tuple[object, object]], holds: bool) -> None:
    equations = Equations()
    contradictions = [equations.contradiction(a, b) for a, b in pairs]  # type: ignore[arg-type]
    assert all(sizes is None for sizes in contradictions) == holds
