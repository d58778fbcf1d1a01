"""Passes of callers: patterns from outside of the package."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import sardonyx as sx
from models import parse_model
from sardonyx._src.rewrite.own_passes import OWN_PASSES
from sardonyx.plugins import Match, pattern

SWOOSH = """g (float[N] x) => (float[N] y) <float two = {2}> {
    t = Mul(x, two) s = Sigmoid(t) y = Mul(x, s) }"""


@pytest.fixture(autouse=True)
def own_passes() -> Iterator[None]:
    """No pass outlives its test."""
    yield
    OWN_PASSES.clear()


def op_types(model: sx.Model) -> list[str]:
    return [node.op_type for node in model.graph.nodes]


def define_fusion() -> None:
    @sx.operator("test.fused", types={"T": ["float"]}, inputs={"x": "T"}, outputs={"y": "T"}, infer="same")
    def FusedSwoosh(x: Any, *, alpha: float) -> Any:
        return (x / (1 + np.exp(-np.float32(alpha) * x))).astype(x.dtype)

    @pattern("t = Mul(x, a) s = Sigmoid(t) y = Mul(x, s)", "y = test.fused.FusedSwoosh<alpha = @alpha>(x)")
    def fuse_swoosh(match: Match) -> dict[str, float] | None:
        """x times the logistic function of a multiple becomes one operator."""
        alpha = match.scalar("a")
        return None if alpha is None else {"alpha": alpha}


def test_a_pattern_replaces_what_it_matches_and_imports_its_domain() -> None:
    define_fusion()
    optimization = sx.tools.optimize_with_report(parse_model(SWOOSH), verify=True)
    assert op_types(optimization.model) == ["FusedSwoosh"]
    assert optimization.model.opset_imports["test.fused"] == 1
    assert optimization.report.proved and optimization.report.passes["fuse-swoosh"].edits == 1
    x = np.linspace(-2, 2, 5, dtype=np.float32)
    y = sx.Session(optimization.model).run({"x": x})["y"]
    np.testing.assert_allclose(y, x / (1 + np.exp(-2 * x)), rtol=1e-6)


def test_a_pattern_that_rejects_its_match_changes_nothing() -> None:
    define_fusion()
    text = "g (float[N] x, float a) => (float[N] y) { t = Mul(x, a) s = Sigmoid(t) y = Mul(x, s) }"
    model = sx.optimize(parse_model(text))
    assert op_types(model) == ["Mul", "Sigmoid", "Mul"]
    assert "test.fused" not in model.opset_imports


def test_alternatives_phases_and_names() -> None:
    @pattern(
        ["n = Abs(x) y = Abs(n)", "n = Neg(x) y = Abs(n)"], "y = Abs(x)", name="one-abs", phase="simplify"
    )
    def unused_name(match: Match) -> dict[str, float]:
        return {}

    model = parse_model("g (float[2] x) => (float[2] y) { a = Neg(x) b = Abs(a) y = Abs(b) }")
    assert op_types(sx.optimize(model, passes=["one-abs"])) == ["Abs"]
    assert op_types(sx.optimize(model, skip=["one-abs"])) == ["Neg", "Abs", "Abs"]


def test_the_native_engine_does_not_apply_them() -> None:
    @pattern("y = Abs(x)", "y = Neg(x)")
    def break_abs(match: Match) -> dict[str, float]:
        return {}

    model = parse_model("g (float[2] x) => (float[2] y) { y = Abs(x) }")
    assert sx.Session(model).run({"x": np.array([-1, 2], np.float32)})["y"].tolist() == [1, 2]
    with pytest.raises(sx.OptimizationError, match="break-abs"):
        sx.optimize(model, verify=True)


@pytest.mark.parametrize(
    ("before", "after", "options", "message"),
    [
        ("y = Abs(x", "y = Neg(x)", {}, "expected"),
        ("y = Abs(x)", "z = Neg(x)", {}, "after must define 'y'"),
        ("", "y = Neg(x)", {}, "must have a node each"),
        ("y = Abs(x)", "y = Neg(x)", {"name": "fuse-gelu"}, "is a pass of this package"),
        ("y = Abs(x)", "y = Neg(x)", {"phase": "last"}, "phase must be"),
    ],
)
def test_wrong_patterns_are_refused(before: str, after: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises((sx.TextError, sx.InputError), match=message):
        pattern(before, after, **options)(lambda match: {})
