"""unroll-loops."""

from __future__ import annotations

import pytest

import sardonyx as sx
from models import parse_model
from rewrite.rewriting import assert_becomes, assert_unchanged

PASS = "unroll-loops"
CLEAN = (PASS, "drop-identity")


def loop(
    body: str, inputs: str = "n, , x", count: str = "int64 n = {2}", outputs: str = "y", more: str = ""
) -> str:
    return f"""g (float[2] x{more}) => (float[] y) <{count}, bool t = {{1}}> {{
        {outputs} = Loop<body = b (int64 i, bool c, float[2] p) => ({body}>({inputs})
    }}"""


NEG = "bool d, float[2] q) { d = Identity(c) q = Neg(p) }"


def test_known_iterations_become_copies() -> None:
    assert_becomes(loop(NEG), "g (float[2] x) => (float[] y) { q = Neg(x) y = Neg(q) }", *CLEAN)
    assert_becomes(loop(NEG, "n, t, x"), "g (float[2] x) => (float[] y) { q = Neg(x) y = Neg(q) }", *CLEAN)


def test_the_number_of_the_iteration_is_a_constant() -> None:
    assert_becomes(
        loop("bool d, float[2] q) { d = Identity(c) k = Cast<to = 1>(i) q = Add(p, k) }"),
        """g (float[2] x) => (float[] y) <int64 i = {0}, int64 j = {1}> {
            k = Cast<to = 1>(i) q = Add(x, k) l = Cast<to = 1>(j) y = Add(q, l)
        }""",
        *CLEAN,
    )


@pytest.mark.parametrize(
    ("opset", "unsqueeze"), [(11, "Unsqueeze<axes = [0]>({})"), (13, "Unsqueeze({}, k)")]
)
def test_what_each_iteration_outputs_is_joined(opset: int, unsqueeze: str) -> None:
    constant = "<int64[1] k = {0}, int64[1] l = {0}>" if opset == 13 else ""
    second = unsqueeze.replace("k)", "l)")
    assert_becomes(
        loop("bool d, float[2] q, float[2] s) { d = Identity(c) q = Neg(p) s = Exp(p) }", outputs="z, y"),
        f"""g (float[2] x) => (float[] y) {constant} {{
            q = Neg(x) a = Exp(x) b = Exp(q) c = {unsqueeze.format("a")} d = {second.format("b")} y = Concat<axis = 0>(c, d)
        }}""",
        *CLEAN,
        opset=opset,
    )


def test_values_that_are_passed_through_keep_their_names() -> None:
    assert_becomes(
        """g (float[2] x, float[2] z) => (float[] y, float[] u) <int64 n = {3}> {
            y, u = Loop<body = b (int64 i, bool c, float[2] p, float[2] q) => (bool d, float[2] r, float[2] s) {
                d = Identity(c) r = Identity(q) s = Identity(p)
            }>(n, , x, z)
        }""",
        "g (float[2] x, float[2] z) => (float[] y, float[] u) { y = Identity(z) u = Identity(x) }",
        *CLEAN,
    )


@pytest.mark.parametrize(
    "text",
    [
        loop(NEG, count="int64 n = {0}"),
        loop(NEG, count="int64 n = {100}"),
        loop(NEG, "m, , x", more=", int64 m"),
        loop(NEG, "n, e, x", more=", bool e"),
        loop(
            "bool d, float[2] q) { k = Constant<value = int64 {1}>() d = Less(i, k) q = Neg(p) }", "n, t, x"
        ),
    ],
)
def test_other_loops_are_kept(text: str) -> None:
    assert_unchanged(text, PASS)


def test_nothing_inside_a_loop_is_taken_for_what_it_is_in_one_iteration() -> None:
    text = loop(
        "bool d, float[2] q) { d = Identity(c) k = Cast<to = 1>(i) q = Add(p, k) }", count="int64 n = {5}"
    )
    original = parse_model(text)
    optimization = sx.tools.optimize_with_report(original, skip=[PASS], verify=True)
    result, report = optimization.model, optimization.report
    assert report.proved and [n.op_type for n in result.graph.nodes] == ["Loop"]
