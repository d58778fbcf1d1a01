"""inline-functions."""

from __future__ import annotations

import pytest

from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "inline-functions"
MORE = '"my": 1'


def test_a_call_becomes_the_body() -> None:
    assert_becomes(
        """g (float[2] x) => (float[2] y) { a = my.f<k = 2.0>(x) y = my.f(a) }
        <domain: "my", opset_import: ["": 21]> f <k: float = 3.0> (a) => (b) { c = Elu<alpha: float = @k>(a) b = Neg(c) }""",
        """g (float[2] x) => (float[2] y) {
            a = Elu<alpha = 2.0>(x) b = Neg(a) c = Elu<alpha = 3.0>(b) y = Neg(c)
        }""",
        PASS,
        more=MORE,
    )


def test_calls_inside_bodies_are_replaced_too() -> None:
    assert_becomes(
        """g (float[2] x) => (float[2] y) { y = my.f(x) }
        <domain: "my", opset_import: ["": 21, "my": 1]> f (a) => (b) { b = my.h(a) }
        <domain: "my", opset_import: ["": 21]> h (a) => (b) { b = Neg(a) }""",
        "g (float[2] x) => (float[2] y) { y = Neg(x) }",
        PASS,
        more=MORE,
    )


def test_a_function_of_another_operator_set_is_kept_where_its_operators_changed() -> None:
    body = 'g (float[2,2] x) => (float[2,2] y) {{ y = my.f(x) }} <domain: "my", opset_import: ["": 11]> f (a) => (b) {{ b = {}(a) }}'
    assert_unchanged(body.format("Softmax"), PASS, more=MORE)
    assert_unchanged(body.format("Ceil"), PASS, more=MORE)  # another version, though it means the same
    assert_becomes(
        body.format("Cos"),
        "g (float[2,2] x) => (float[2,2] y) { y = Cos(x) }",
        PASS,
        opset=13,
        more=MORE,
    )


def test_functions_that_multiply_stop_growing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sardonyx._src.infer.state.MAX_REPEATED_NODES", 1 << 14)  # the default takes seconds
    rows = "\n".join(
        f'<domain: "my", opset_import: ["": 21, "my": 1]> f{i} (a) => (b) {{ c = my.f{i + 1}(a) d = my.f{i + 1}(c) b = my.f{i + 1}(d) }}'
        for i in range(12)
    )
    last = '<domain: "my", opset_import: ["": 21]> f12 (a) => (b) { b = Neg(a) }'
    from models import parse_model
    from sardonyx._src.rewrite.optimize import optimize
    from sardonyx._src.rewrite.report import count_nodes

    original = parse_model(f"g (float[2] x) => (float[2] y) {{ y = my.f0(x) }}\n{rows}\n{last}", more=MORE)
    assert count_nodes(optimize(original, passes=[PASS])) < 20_000
